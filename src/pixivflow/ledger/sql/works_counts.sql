-- How many works are in each state.
SELECT type, state, count(*) AS count FROM works GROUP BY type, state
