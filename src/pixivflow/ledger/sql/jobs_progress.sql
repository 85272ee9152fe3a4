-- The stage people see, and the mark that proves the work moves.
UPDATE jobs
SET stage = :stage, stage_message = :message, updated_at = :now, progress_at = :now
WHERE id = :id AND phase <> 'done'
