-- The works picked in a job, in the order they were picked.
SELECT * FROM picks WHERE job_id = :job_id ORDER BY target_id, ordinal
