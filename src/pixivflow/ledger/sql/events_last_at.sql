-- The time of a job's newest visible event. Asked apart: inside the INSERT it costs ten times as much.
SELECT at FROM events WHERE job_id = :job_id AND visible = 1 ORDER BY seq DESC LIMIT 1
