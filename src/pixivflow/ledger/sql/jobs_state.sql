-- What a transition needs to know.
SELECT id, state, phase, account, started_at, callback_url FROM jobs WHERE id = :id
