-- The files of a work are gone on purpose; its deliveries need no more looking at.
UPDATE deliveries SET storage = 'gone'
WHERE work_type = :work_type AND work_id = :work_id AND storage = 'cache'
