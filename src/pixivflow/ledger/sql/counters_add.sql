-- Count something worth seeing.
INSERT INTO counters (name, value) VALUES (:name, :by)
ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value
