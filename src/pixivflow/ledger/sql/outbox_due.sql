-- Rows that may be tried now, and rows whose owner died with them in hand.
SELECT id FROM outbox
WHERE (state IN ('pending', 'retry_wait') AND due_at <= :now) OR (state = 'processing' AND lease_until <= :now)
ORDER BY due_at, id
LIMIT :limit
