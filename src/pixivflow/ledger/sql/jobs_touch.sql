-- Something about an open job moved.
UPDATE jobs SET updated_at = :now, progress_at = :now WHERE id = :id AND phase <> 'done'
