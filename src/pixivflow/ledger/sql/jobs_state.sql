-- What a transition needs to know.
SELECT id, state, phase, account, started_at FROM jobs WHERE id = :id
