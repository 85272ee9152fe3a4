-- The job ended early: what was not sent is cancelled. A row on the wire keeps its delivery open until its answer.
UPDATE deliveries SET state = 'cancelled', detail = :detail, updated_at = :now
WHERE job_id = :job_id AND state = 'pending'
  AND key NOT IN (SELECT o.key FROM outbox AS o
                  WHERE o.job_id = :job_id AND o.kind = 'delivery' AND o.state = 'processing')
