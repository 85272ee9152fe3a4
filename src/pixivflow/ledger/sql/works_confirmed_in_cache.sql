-- Works whose files may go: kept only for delivery, every delivery confirmed, nothing waiting.
SELECT DISTINCT d.work_type, d.work_id FROM deliveries AS d
WHERE d.storage = 'cache' AND d.state IN ('delivered', 'duplicate')
  AND NOT EXISTS (SELECT 1 FROM deliveries AS e
                  WHERE e.work_type = d.work_type AND e.work_id = d.work_id
                    AND (e.state NOT IN ('delivered', 'duplicate', 'cancelled') OR e.storage <> 'cache'))
  AND EXISTS (SELECT 1 FROM files AS f
              WHERE f.work_type = d.work_type AND f.work_id = d.work_id AND f.state = 'complete')
