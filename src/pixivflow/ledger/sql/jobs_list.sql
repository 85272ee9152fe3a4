-- Newest first, below a cursor, of any state. The rowid serves the order.
SELECT j.*, (SELECT a.lease_until FROM attempts AS a WHERE a.job_id = j.id AND a.live = 1) AS lease_until
FROM jobs AS j
WHERE (:before IS NULL OR j.seq < :before) AND (:type IS NULL OR j.type = :type)
ORDER BY j.seq DESC
LIMIT :limit
