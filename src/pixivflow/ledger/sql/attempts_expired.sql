-- Live attempts whose lease has run out. No order: the few live ones are found through their own small index.
SELECT id, job_id, account FROM attempts
WHERE live = 1 AND lease_until <= :now
LIMIT :limit
