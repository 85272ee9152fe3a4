-- Claim a path; one that was given up may be claimed by anybody.
INSERT INTO files (path, work_type, work_id, state, updated_at)
VALUES (:path, :work_type, :work_id, 'reserved', :now)
ON CONFLICT (path) DO UPDATE
SET work_type = excluded.work_type, work_id = excluded.work_id, state = 'reserved', updated_at = excluded.updated_at
WHERE files.state = 'removed'
