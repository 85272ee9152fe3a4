-- Newest first, below a cursor; every filter is optional. The state index serves the commonest question.
SELECT j.*, (SELECT a.lease_until FROM attempts AS a WHERE a.job_id = j.id AND a.live = 1) AS lease_until
FROM jobs AS j
WHERE (:before IS NULL OR j.seq < :before)
  AND (:state IS NULL OR j.state = :state)
  AND (:type IS NULL OR j.type = :type)
  AND (:correlation_id IS NULL OR j.correlation_id = :correlation_id)
ORDER BY j.seq DESC
LIMIT :limit
