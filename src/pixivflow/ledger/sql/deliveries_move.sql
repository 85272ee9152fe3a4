-- What became of a delivery. What was confirmed stays confirmed.
UPDATE deliveries
SET state = :to, remote_id = coalesce(:remote_id, remote_id), error_class = :error_class, detail = :detail,
    updated_at = :now
WHERE key = :key AND state NOT IN ('delivered', 'duplicate')
