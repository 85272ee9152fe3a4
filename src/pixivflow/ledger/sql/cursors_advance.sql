-- Acknowledge; the cursor never goes back.
INSERT INTO event_cursors (job_id, acked_seq, updated_at) VALUES (:job_id, :seq, :now)
ON CONFLICT (job_id) DO UPDATE SET acked_seq = excluded.acked_seq, updated_at = excluded.updated_at
WHERE excluded.acked_seq > event_cursors.acked_seq
