-- Grant: the unique index over live attempts refuses a second one in the same place.
INSERT INTO attempts (id, job_id, number, account, slot, state, granted_at, lease_until)
VALUES (:id, :job_id, :number, :account, :slot, 'granted', :now, :lease_until)
