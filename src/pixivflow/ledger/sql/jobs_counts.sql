-- How many jobs are in each state.
SELECT state, count(*) AS count FROM jobs GROUP BY state
