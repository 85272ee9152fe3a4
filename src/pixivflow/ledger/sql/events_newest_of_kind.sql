-- The event of a kind that was recorded last; asked only for jobs with a callback, in the commit that recorded it.
SELECT seq, job_id, kind, at, detail FROM events
WHERE job_id = :job_id AND kind = :kind AND visible = 1
ORDER BY seq DESC
LIMIT 1
