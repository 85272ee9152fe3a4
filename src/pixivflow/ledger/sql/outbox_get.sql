-- One row.
SELECT * FROM outbox WHERE id = :id
