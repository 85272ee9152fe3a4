-- When the next open job must have ended.
SELECT min(deadline_at) AS at FROM jobs WHERE phase <> 'done'
