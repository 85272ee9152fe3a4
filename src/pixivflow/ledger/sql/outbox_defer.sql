-- Put off without using a try: the receiver was not ready to be asked.
UPDATE outbox
SET state = 'retry_wait', token = NULL, lease_until = NULL, attempt = attempt - 1, due_at = :due_at,
    error_class = 'dependency_not_ready', detail = :detail, updated_at = :now
WHERE id = :id AND state = 'processing' AND token = :token
