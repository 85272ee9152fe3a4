-- The work lock. A work another cell of the job holds is left to it.
INSERT INTO picks (job_id, target_id, work_type, work_id, ordinal, title, state, updated_at)
SELECT :job_id, :target_id, :work_type, :work_id,
       (SELECT count(*) FROM picks WHERE job_id = :job_id AND target_id = :target_id), :title, 'selected', :now
WHERE true
ON CONFLICT (job_id, work_type, work_id) DO NOTHING
