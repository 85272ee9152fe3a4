-- A cell's state, guarded by the state it was decided on.
UPDATE cells SET state = :to, reason = :reason, message = :message, updated_at = :now
WHERE job_id = :job_id AND target_id = :target_id AND state = :state
