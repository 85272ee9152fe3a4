-- How many rows are in each state.
SELECT state, count(*) AS count FROM outbox GROUP BY state
