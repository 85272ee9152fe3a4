-- The work has stopped; the place is free.
UPDATE attempts SET state = :to, live = 0, ended_at = :now WHERE id = :id AND live = 1
