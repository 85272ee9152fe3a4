-- Whether an id names a visible event of this job.
SELECT seq FROM events WHERE seq = :seq AND job_id = :job_id AND visible = 1
