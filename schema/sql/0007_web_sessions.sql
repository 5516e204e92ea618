-- The cookie's secret is stored as SHA-256 of its 32 bytes. A session ends with its API token.
CREATE TABLE web_sessions (
    id            BLOB PRIMARY KEY,
    secret_sha256 BLOB NOT NULL UNIQUE,
    api_token_id  BLOB NOT NULL REFERENCES api_tokens (id) ON DELETE CASCADE,
    created_at    INTEGER NOT NULL,
    last_used_at  INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX web_sessions_expiry ON web_sessions (expires_at);
