-- Everything that counts as running.
SELECT id, job_id, account, state, owner, lease_until FROM attempts WHERE live = 1
