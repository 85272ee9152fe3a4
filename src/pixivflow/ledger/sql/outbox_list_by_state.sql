-- Rows of one state for people, newest first. Apart, so that the few waiting are not looked for among all the done.
SELECT * FROM outbox
WHERE state = :state AND (:job_id IS NULL OR job_id = :job_id)
ORDER BY id DESC
LIMIT :limit
