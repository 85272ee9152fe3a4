-- One pick.
SELECT * FROM picks WHERE job_id = :job_id AND work_type = :work_type AND work_id = :work_id
