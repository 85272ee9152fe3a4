-- A verified file under its final name.
INSERT INTO files (path, work_type, work_id, state, role, number, key, bytes, sha256, mime, width, height, quality,
                   source_url, duration_ms, updated_at)
VALUES (:path, :work_type, :work_id, 'complete', :role, :number, :key, :bytes, :sha256, :mime, :width, :height,
        :quality, :source_url, :duration_ms, :now)
ON CONFLICT (path) DO UPDATE
SET work_type = excluded.work_type, work_id = excluded.work_id, state = 'complete', role = excluded.role,
    number = excluded.number, key = excluded.key, bytes = excluded.bytes, sha256 = excluded.sha256,
    mime = excluded.mime, width = excluded.width, height = excluded.height, quality = excluded.quality,
    source_url = excluded.source_url, duration_ms = excluded.duration_ms, updated_at = excluded.updated_at
