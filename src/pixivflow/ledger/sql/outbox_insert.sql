-- An intent to send, once per kind and key.
INSERT INTO outbox (kind, key, route, job_id, payload, state, max_attempts, due_at, created_at, updated_at)
VALUES (:kind, :key, :route, :job_id, :payload, 'pending', :max_attempts, :now, :now, :now)
ON CONFLICT (kind, key) DO NOTHING
