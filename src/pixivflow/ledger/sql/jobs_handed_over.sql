-- Collecting is over; what remains is the receivers' business and needs no account.
UPDATE jobs SET phase = 'deliver', stage = 'delivering', stage_message = NULL, updated_at = :now
WHERE id = :id AND phase = 'collect'
