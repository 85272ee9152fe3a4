-- Every attempt of a job.
SELECT id, number, state, owner, granted_at, started_at, ended_at FROM attempts WHERE job_id = :job_id ORDER BY number
