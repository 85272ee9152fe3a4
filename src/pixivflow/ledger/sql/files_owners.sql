-- Who holds some paths.
SELECT f.path, f.work_type, f.work_id, f.state FROM files AS f JOIN json_each(:paths) AS p ON f.path = p.value
