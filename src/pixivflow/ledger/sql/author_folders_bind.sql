-- The first name wins.
INSERT INTO author_folders (author_id, name, bound_at) VALUES (:author_id, :name, :now)
ON CONFLICT (author_id) DO NOTHING
