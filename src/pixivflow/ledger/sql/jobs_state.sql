-- What a transition needs to know.
SELECT id, type, state, phase, account, trigger_source, started_at, callback_url FROM jobs WHERE id = :id
