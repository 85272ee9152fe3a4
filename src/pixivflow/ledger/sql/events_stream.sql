-- The visible events of all jobs after a position. The number follows the commits because there is one writer: whoever
-- has read up to a number has seen everything below it.
SELECT seq, job_id, kind, at, detail FROM events
WHERE visible = 1 AND seq > :after
ORDER BY seq
LIMIT :limit
