-- Live attempts whose lease has run out.
SELECT id, job_id, account FROM attempts
WHERE live = 1 AND lease_until <= :now
ORDER BY id
LIMIT :limit
