-- What is known of works.
SELECT w.* FROM works AS w
JOIN json_each(:works) AS v ON w.type = v.value ->> 0 AND w.id = v.value ->> 1
