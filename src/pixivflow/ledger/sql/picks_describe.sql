-- What is told of a work is frozen with the files it is about; only while the pick has not gone further.
UPDATE picks SET described = :described
WHERE job_id = :job_id AND work_type = :work_type AND work_id = :work_id AND state = 'selected'
