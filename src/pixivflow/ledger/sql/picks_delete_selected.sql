-- Give a provisional binding back; only while nothing has come of it.
DELETE FROM picks
WHERE job_id = :job_id AND target_id = :target_id AND work_type = :work_type AND work_id = :work_id
  AND state = 'selected'
