-- Newest first, below a cursor, of one state. A statement of its own, because an optional condition would make SQLite
-- walk through every job that has ended to find the few that have not.
SELECT j.*, (SELECT a.lease_until FROM attempts AS a WHERE a.job_id = j.id AND a.live = 1) AS lease_until
FROM jobs AS j
WHERE j.state = :state AND j.seq < coalesce(:before, 9223372036854775807)
ORDER BY j.seq DESC
LIMIT :limit
