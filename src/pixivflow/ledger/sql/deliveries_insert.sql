-- One work on its way to one route.
INSERT INTO deliveries (key, route, job_id, target_id, work_type, work_id, storage, state, created_at, updated_at)
VALUES (:key, :route, :job_id, :target_id, :work_type, :work_id, :storage, 'pending', :now, :now)
ON CONFLICT (key) DO NOTHING
