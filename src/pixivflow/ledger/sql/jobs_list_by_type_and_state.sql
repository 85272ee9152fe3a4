-- Newest first, below a cursor, of one type and state: neither may be rare while both together are.
SELECT j.*, (SELECT a.lease_until FROM attempts AS a WHERE a.job_id = j.id AND a.live = 1) AS lease_until
FROM jobs AS j
WHERE j.type = :type AND j.state = :state AND j.seq < coalesce(:before, 9223372036854775807)
ORDER BY j.seq DESC
LIMIT :limit
