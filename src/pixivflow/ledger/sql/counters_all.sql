-- Everything counted.
SELECT name, value FROM counters ORDER BY name
