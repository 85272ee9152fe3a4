-- Accounts for which something is to be collected.
SELECT DISTINCT account FROM jobs WHERE phase = 'collect'
