-- Newest first, below a cursor. The rowid serves the order.
SELECT j.*, (SELECT a.lease_until FROM attempts AS a WHERE a.job_id = j.id AND a.live = 1) AS lease_until
FROM jobs AS j
WHERE j.seq < coalesce(:before, 9223372036854775807)
ORDER BY j.seq DESC
LIMIT :limit
