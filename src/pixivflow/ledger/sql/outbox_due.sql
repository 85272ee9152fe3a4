-- Rows that may be tried now, and rows whose owner died with them in hand. Busy routes are left for later.
SELECT id FROM outbox
WHERE ((state IN ('pending', 'retry_wait') AND due_at <= :now) OR (state = 'processing' AND lease_until <= :now))
  AND route NOT IN (SELECT value FROM json_each(:skip))
ORDER BY due_at, id
LIMIT :limit
