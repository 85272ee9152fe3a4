-- Take a row. The token is the fence of this try.
UPDATE outbox
SET state = 'processing', token = :token, lease_until = :lease_until, attempt = attempt + 1, updated_at = :now
WHERE id = :id
  AND ((state IN ('pending', 'retry_wait') AND due_at <= :now) OR (state = 'processing' AND lease_until <= :now))
RETURNING *
