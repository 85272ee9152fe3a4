-- A long upload keeps its row.
UPDATE outbox SET lease_until = :lease_until, updated_at = :now
WHERE id = :id AND state = 'processing' AND token = :token
