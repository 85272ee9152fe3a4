-- When the worker has something to do next. Busy routes are left out.
SELECT min(at) AS at FROM (
  SELECT min(due_at) AS at FROM outbox
  WHERE state IN ('pending', 'retry_wait') AND route NOT IN (SELECT value FROM json_each(:skip))
  UNION ALL
  SELECT min(lease_until) AS at FROM outbox WHERE state = 'processing'
)
