-- One delivery.
SELECT * FROM deliveries WHERE key = :key
