-- One more row of the stream.
INSERT INTO events (job_id, kind, at, visible, terminal, detail)
VALUES (:job_id, :kind, :at, :visible, :terminal, :detail)
