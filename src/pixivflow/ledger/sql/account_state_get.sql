-- Tokens and gate of an account.
SELECT tokens, gate FROM account_state WHERE account = :account
