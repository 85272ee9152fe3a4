-- Open jobs whose deadline has come, the longest overdue first, in bounded batches.
SELECT id FROM jobs
WHERE phase <> 'done' AND deadline_at <= :now
ORDER BY deadline_at
LIMIT :limit
