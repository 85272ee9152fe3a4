-- How many jobs have not ended.
SELECT count(*) AS count FROM jobs WHERE phase <> 'done'
