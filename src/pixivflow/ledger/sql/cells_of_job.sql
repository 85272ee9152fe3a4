-- The targets of a job, in order.
SELECT * FROM cells WHERE job_id = :job_id ORDER BY ordinal
