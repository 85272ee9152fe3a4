-- An attempt with what its job allows.
SELECT a.*, j.state AS job_state, j.phase AS job_phase
FROM attempts AS a JOIN jobs AS j ON j.id = a.job_id
WHERE a.id = :id
