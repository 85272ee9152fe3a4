-- The files of a work are gone on purpose: known, but to be fetched again when somebody wants its files.
UPDATE works SET state = 'incomplete', updated_at = :now WHERE type = :work_type AND id = :work_id
