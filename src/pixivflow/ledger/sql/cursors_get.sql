-- How far a job's events are acknowledged.
SELECT acked_seq FROM event_cursors WHERE job_id = :job_id
