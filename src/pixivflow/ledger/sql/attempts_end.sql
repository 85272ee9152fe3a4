-- The work has stopped; the place is free.
UPDATE attempts SET state = :to, ended_at = :now WHERE id = :id AND state IN ('granted', 'running')
