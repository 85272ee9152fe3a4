-- The end of a try that is the end of the row; only the holder of the token may say so.
UPDATE outbox
SET state = :to, token = NULL, lease_until = NULL, error_class = :error_class, detail = :detail, updated_at = :now
WHERE id = :id AND state = 'processing' AND token = :token
