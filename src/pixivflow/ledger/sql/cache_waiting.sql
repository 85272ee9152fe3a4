-- Works whose files may go: every delivery of them belongs to a cache target and is confirmed or cancelled, at least
-- one is confirmed, and no cell still works on them. Oldest first.
SELECT d.work_type, d.work_id, min(d.updated_at) AS at FROM deliveries AS d
WHERE d.storage = 'cache'
  AND (:work_type IS NULL OR (d.work_type = :work_type AND d.work_id = :work_id))
  AND NOT EXISTS (SELECT 1 FROM deliveries AS e
                  WHERE e.work_type = d.work_type AND e.work_id = d.work_id
                    AND (e.storage = 'persistent' OR e.state NOT IN ('delivered', 'duplicate', 'cancelled')))
  AND NOT EXISTS (SELECT 1 FROM picks AS p
                  WHERE p.work_type = d.work_type AND p.work_id = d.work_id
                    AND p.state IN ('selected', 'artifact_ready', 'delivery_pending', 'stored'))
GROUP BY d.work_type, d.work_id
HAVING sum(d.state IN ('delivered', 'duplicate')) > 0
ORDER BY at
LIMIT :limit
