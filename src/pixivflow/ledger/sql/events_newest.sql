-- How far the stream reaches, internal kinds included. The greatest number, so that one step of the tree finds it.
SELECT max(seq) AS seq FROM events
