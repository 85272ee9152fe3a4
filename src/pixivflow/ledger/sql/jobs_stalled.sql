-- Running jobs without a live lease whose work has not moved for the stall budget.
SELECT j.id FROM jobs AS j
WHERE j.state = 'running' AND j.phase = 'collect' AND j.progress_at <= :before
  AND NOT EXISTS (SELECT 1 FROM attempts AS a
                  WHERE a.job_id = j.id AND a.live = 1 AND a.lease_until > :now)
ORDER BY j.seq
LIMIT :limit
