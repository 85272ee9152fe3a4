-- A job by its idempotency key, exactly as sent.
SELECT id FROM jobs WHERE idempotency_key = :key
