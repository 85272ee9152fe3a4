-- A pick's state, guarded by the state it was decided on.
UPDATE picks SET state = :to, reason = :reason, message = :message, updated_at = :now
WHERE job_id = :job_id AND work_type = :work_type AND work_id = :work_id AND state = :state
