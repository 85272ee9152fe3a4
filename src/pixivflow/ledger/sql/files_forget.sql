-- The files are damaged or gone.
UPDATE files SET state = 'removed', updated_at = :now
WHERE work_type = :work_type AND work_id = :work_id AND path IN (SELECT value FROM json_each(:paths))
