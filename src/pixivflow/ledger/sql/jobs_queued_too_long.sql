-- Jobs nobody started although their account was free: while another job of the account runs, waiting is normal
-- service and does not count. An attempt that was granted and never started counts as not started.
SELECT j.id FROM jobs AS j
WHERE j.state = 'queued' AND j.phase = 'collect' AND j.created_at <= :before
  AND NOT EXISTS (SELECT 1 FROM attempts AS a WHERE a.live = 1 AND a.account = j.account AND a.state = 'running')
  AND coalesce((SELECT max(b.ended_at) FROM attempts AS b WHERE b.account = j.account), 0) <= :before
ORDER BY j.seq
LIMIT :limit
