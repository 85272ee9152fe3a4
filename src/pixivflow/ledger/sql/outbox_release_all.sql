-- Every owner is dead (the file lock proves it): their rows are due at once.
UPDATE outbox SET state = 'pending', token = NULL, lease_until = NULL, due_at = :now, updated_at = :now
WHERE state = 'processing'
