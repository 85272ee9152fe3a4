-- Keep the gate.
INSERT INTO account_state (account, gate, updated_at) VALUES (:account, :gate, :now)
ON CONFLICT (account) DO UPDATE SET gate = excluded.gate, updated_at = excluded.updated_at
