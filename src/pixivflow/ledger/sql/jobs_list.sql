-- Newest first, below a cursor; every filter is optional. The state index serves the commonest question.
SELECT j.*, a.lease_until, a.id AS attempt_id
FROM jobs AS j
LEFT JOIN attempts AS a ON a.job_id = j.id AND a.state IN ('granted', 'running')
WHERE (:before IS NULL OR j.seq < :before)
  AND (:state IS NULL OR j.state = :state)
  AND (:type IS NULL OR j.type = :type)
  AND (:correlation_id IS NULL OR j.correlation_id = :correlation_id)
ORDER BY j.seq DESC
LIMIT :limit
