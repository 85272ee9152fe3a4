-- Routes that confirmed works, or have them in their queue.
SELECT d.work_type, d.work_id, d.route FROM deliveries AS d
JOIN json_each(:works) AS w ON d.work_type = w.value ->> 0 AND d.work_id = w.value ->> 1
WHERE d.state IN ('delivered', 'duplicate', 'pending')
