-- The oldest job of an account that needs an attempt and has none.
SELECT j.id, j.attempts
FROM jobs AS j
WHERE j.phase = 'collect' AND j.account = :account
  AND NOT EXISTS (SELECT 1 FROM attempts AS a WHERE a.job_id = j.id AND a.live = 1)
ORDER BY j.seq
LIMIT 1
