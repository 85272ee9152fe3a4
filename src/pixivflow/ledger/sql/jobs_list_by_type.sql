-- Newest first, below a cursor, of one type, whatever its state. Among a hundred thousand searches the few jobs of a
-- rare type are found without walking through the others.
SELECT j.*, (SELECT a.lease_until FROM attempts AS a WHERE a.job_id = j.id AND a.live = 1) AS lease_until
FROM jobs AS j
WHERE j.type = :type AND j.seq < coalesce(:before, 9223372036854775807)
ORDER BY j.seq DESC
LIMIT :limit
