-- Every route of one pick.
SELECT * FROM deliveries
WHERE job_id = :job_id AND target_id = :target_id AND work_type = :work_type AND work_id = :work_id
ORDER BY key
