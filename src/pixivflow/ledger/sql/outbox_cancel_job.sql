-- The job ended early: what waits is not sent. A row in hand is stopped by the last look before it is sent.
UPDATE outbox SET state = 'cancelled', detail = :detail, updated_at = :now
WHERE job_id = :job_id AND kind = 'delivery' AND state IN ('pending', 'retry_wait')
