-- The event after which nothing follows in a job.
SELECT seq FROM events WHERE job_id = :job_id AND terminal = 1
