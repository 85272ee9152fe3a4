-- An operator gives a row up.
UPDATE outbox SET state = 'cancelled', detail = :detail, updated_at = :now
WHERE id = :id AND state IN ('pending', 'retry_wait', 'dead')
