-- Every delivery of a job.
SELECT * FROM deliveries WHERE job_id = :job_id ORDER BY key
