-- When the worker has something to do next.
SELECT min(at) AS at FROM (
  SELECT min(due_at) AS at FROM outbox WHERE state IN ('pending', 'retry_wait')
  UNION ALL
  SELECT min(lease_until) AS at FROM outbox WHERE state = 'processing'
)
