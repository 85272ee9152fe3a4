-- A job with the lease of its live attempt, if it has one. A subquery, because the join costs ten times as much.
SELECT j.*, (SELECT a.lease_until FROM attempts AS a WHERE a.job_id = j.id AND a.live = 1) AS lease_until
FROM jobs AS j
WHERE j.id = :id
