-- How many visible events a consumer has not acknowledged.
SELECT count(*) AS count FROM events WHERE job_id = :job_id AND visible = 1 AND seq > :after
