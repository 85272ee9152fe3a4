-- The recorded files of a work.
SELECT * FROM files WHERE work_type = :work_type AND work_id = :work_id AND state = 'complete' ORDER BY role, number, key
