-- The one state change, guarded by the state it was decided on.
UPDATE jobs
SET state = :to,
    phase = :phase,
    updated_at = :now,
    started_at = CASE WHEN :to = 'running' THEN coalesce(started_at, :now) ELSE started_at END,
    finished_at = CASE WHEN :phase = 'done' THEN :now END,
    stage = :stage,
    stage_message = NULL,
    reason = :reason,
    message = :message
WHERE id = :id AND state = :state
