-- Works whose files may go: every delivery of them belongs to a cache target and is confirmed or cancelled, at least
-- one is confirmed, no cell still works on them, and files stand. Oldest first.
SELECT d.work_type, d.work_id, min(d.updated_at) AS at FROM deliveries AS d
WHERE (:work_type IS NULL OR (d.work_type = :work_type AND d.work_id = :work_id))
GROUP BY d.work_type, d.work_id
HAVING sum(d.storage <> 'cache') = 0
   AND sum(d.state NOT IN ('delivered', 'duplicate', 'cancelled')) = 0
   AND sum(d.state IN ('delivered', 'duplicate')) > 0
   AND EXISTS (SELECT 1 FROM files AS f
               WHERE f.work_type = d.work_type AND f.work_id = d.work_id AND f.state = 'complete')
   AND NOT EXISTS (SELECT 1 FROM picks AS p
                   WHERE p.work_type = d.work_type AND p.work_id = d.work_id
                     AND p.state IN ('selected', 'artifact_ready', 'delivery_pending', 'stored'))
ORDER BY at
LIMIT :limit
