-- The targets of a job; the reader sorts the few rows, which costs less than a sorter here.
SELECT * FROM cells WHERE job_id = :job_id
