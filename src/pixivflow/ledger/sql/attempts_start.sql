-- A second delivery of the same attempt changes nothing and leaves.
UPDATE attempts SET state = 'running', owner = :owner, started_at = :now, lease_until = :lease_until
WHERE id = :id AND state = 'granted'
