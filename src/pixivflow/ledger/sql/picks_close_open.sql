-- The job ended early: what was still open ends with its reason.
UPDATE picks SET state = 'failed', reason = :reason, message = :message, updated_at = :now
WHERE job_id = :job_id AND state IN ('selected', 'artifact_ready', 'delivery_pending')
