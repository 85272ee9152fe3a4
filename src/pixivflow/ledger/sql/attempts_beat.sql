-- Renew the lease; only its owner can, and only while it is live.
UPDATE attempts SET lease_until = :lease_until
WHERE id = :id AND state = 'running' AND owner = :owner
