-- Rows for people, newest first.
SELECT * FROM outbox
WHERE (:job_id IS NULL OR job_id = :job_id)
ORDER BY id DESC
LIMIT :limit
