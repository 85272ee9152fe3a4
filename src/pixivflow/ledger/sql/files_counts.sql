-- How many files are recorded, and their size.
SELECT count(*) AS count, coalesce(sum(bytes), 0) AS bytes FROM files WHERE state = 'complete'
