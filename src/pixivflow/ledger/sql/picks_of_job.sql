-- The works picked in a job; the reader sorts the few rows, which costs less than a sorter here.
SELECT * FROM picks WHERE job_id = :job_id
