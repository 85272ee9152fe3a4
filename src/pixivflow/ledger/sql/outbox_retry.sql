-- The end of a try that will be repeated.
UPDATE outbox
SET state = 'retry_wait', token = NULL, lease_until = NULL, due_at = :due_at, error_class = :error_class,
    detail = :detail, updated_at = :now
WHERE id = :id AND state = 'processing' AND token = :token
