-- A job with the lease of its live attempt, if it has one.
SELECT j.*, a.lease_until, a.id AS attempt_id
FROM jobs AS j
LEFT JOIN attempts AS a ON a.job_id = j.id AND a.state IN ('granted', 'running')
WHERE j.id = :id
