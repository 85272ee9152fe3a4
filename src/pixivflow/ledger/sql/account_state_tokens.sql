-- Keep the tokens.
INSERT INTO account_state (account, tokens, updated_at) VALUES (:account, :tokens, :now)
ON CONFLICT (account) DO UPDATE SET tokens = excluded.tokens, updated_at = excluded.updated_at
