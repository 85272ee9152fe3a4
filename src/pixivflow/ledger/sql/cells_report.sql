-- The funnel as it stands.
UPDATE cells SET report = :report, updated_at = :now WHERE job_id = :job_id AND target_id = :target_id
