-- A new job. The unique key and id make two processes agree on one row.
INSERT INTO jobs (id, type, state, phase, plan_id, account, trigger_source, idempotency_key, correlation_id,
                  callback_url, labels, params, snapshot, created_at, updated_at, deadline_at, progress_at)
VALUES (:id, :type, 'queued', 'collect', :plan_id, :account, :trigger_source, :idempotency_key, :correlation_id,
        :callback_url, :labels, :params, :snapshot, :now, :now, :deadline_at, :now)
