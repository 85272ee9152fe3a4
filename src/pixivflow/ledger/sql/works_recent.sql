-- The works stored last.
SELECT * FROM works ORDER BY updated_at DESC LIMIT :limit
