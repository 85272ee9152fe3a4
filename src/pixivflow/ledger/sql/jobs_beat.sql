-- The owner lives. `progress_at` moves only when the work did.
UPDATE jobs
SET heartbeat_at = :now, progress_at = CASE WHEN :moved THEN :now ELSE progress_at END
WHERE id = :id AND phase <> 'done'
