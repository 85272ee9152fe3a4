-- Live attempts whose lease has run out.
SELECT id, job_id, account FROM attempts
WHERE state IN ('granted', 'running') AND lease_until <= :now
ORDER BY id
LIMIT :limit
