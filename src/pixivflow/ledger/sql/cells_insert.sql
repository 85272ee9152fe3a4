-- One target of a new job.
INSERT INTO cells (job_id, target_id, ordinal, work_type, state, updated_at)
VALUES (:job_id, :target_id, :ordinal, :work_type, 'pending', :now)
