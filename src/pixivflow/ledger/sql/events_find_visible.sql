-- Whether a number names a visible event of any job.
SELECT seq FROM events WHERE seq = :seq AND visible = 1
