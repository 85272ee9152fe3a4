-- An earlier file of the same role, number and key under another name no longer counts.
UPDATE files SET state = 'removed', updated_at = :now
WHERE work_type = :work_type AND work_id = :work_id AND role = :role AND number = :number AND key = :key
  AND path <> :path AND state = 'complete'
