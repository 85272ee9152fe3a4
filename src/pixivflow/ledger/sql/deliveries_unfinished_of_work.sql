-- Whether any job still needs the files of a work, or has not confirmed it yet.
SELECT count(*) AS count FROM deliveries
WHERE work_type = :work_type AND work_id = :work_id AND state = 'pending'
