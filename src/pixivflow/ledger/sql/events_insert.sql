-- Time never runs backward within a job, whatever the clock does: time order and id order agree.
INSERT INTO events (job_id, kind, at, visible, terminal, detail)
VALUES (:job_id, :kind,
        max(:at, coalesce((SELECT max(e.at) FROM events AS e WHERE e.job_id = :job_id AND e.visible = 1), 0)),
        :visible, :terminal, :detail)
RETURNING seq, at
