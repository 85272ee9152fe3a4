-- Newest first, below a cursor, of one correlation. Served by its own index: one story has few jobs, so what else is
-- asked of them is looked for among those few.
SELECT j.*, (SELECT a.lease_until FROM attempts AS a WHERE a.job_id = j.id AND a.live = 1) AS lease_until
FROM jobs AS j
WHERE j.correlation_id = :correlation_id AND j.seq < coalesce(:before, 9223372036854775807)
  AND (:type IS NULL OR j.type = :type) AND (:state IS NULL OR j.state = :state)
ORDER BY j.seq DESC
LIMIT :limit
