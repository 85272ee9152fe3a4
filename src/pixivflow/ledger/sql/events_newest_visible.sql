-- The newest event a reader can have seen. The bound says where to begin: at the end, not at the beginning.
SELECT seq, at FROM events
WHERE visible = 1 AND seq <= :newest
ORDER BY seq DESC
LIMIT 1
