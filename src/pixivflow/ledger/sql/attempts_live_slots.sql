-- The places of an account that are taken.
SELECT slot FROM attempts WHERE account = :account AND live = 1
