-- Remember a work.
INSERT INTO works (type, id, state, title, author_id, author_name, page_count, created_at, first_seen_at, updated_at)
VALUES (:type, :id, :state, :title, :author_id, :author_name, :page_count, :created_at, :now, :now)
ON CONFLICT (type, id) DO UPDATE
SET state = excluded.state, title = excluded.title, author_id = excluded.author_id, author_name = excluded.author_name,
    page_count = excluded.page_count, created_at = excluded.created_at, updated_at = excluded.updated_at
