-- Open jobs whose deadline has come, the oldest first, in bounded batches.
SELECT id FROM jobs
WHERE phase <> 'done' AND deadline_at <= :now
ORDER BY seq
LIMIT :limit
