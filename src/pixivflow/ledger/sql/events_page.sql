-- The visible events of a job after a position, one more than asked for so that the reader knows whether there is more.
SELECT seq, job_id, kind, at, detail FROM events
WHERE job_id = :job_id AND visible = 1 AND seq > :after
ORDER BY seq
LIMIT :limit
