-- An operator wants a dead row tried again, with a fresh set of tries.
UPDATE outbox
SET state = 'pending', attempt = 0, due_at = :now, error_class = NULL, detail = NULL, updated_at = :now
WHERE id = :id AND state IN ('dead', 'retry_wait')
