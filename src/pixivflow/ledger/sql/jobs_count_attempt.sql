-- One more attempt was granted.
UPDATE jobs SET attempts = attempts + 1 WHERE id = :id
