-- Answers to writes that named an Idempotency-Key, written with the write itself.
CREATE TABLE idempotency_keys (
    api_token_id BLOB NOT NULL,
    key          TEXT NOT NULL,
    request      BLOB NOT NULL, -- SHA-256 of method, path and body
    status       INTEGER NOT NULL,
    location     TEXT NOT NULL,
    revision     INTEGER NOT NULL,
    body         TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (api_token_id, key)
) STRICT;
CREATE INDEX idempotency_keys_time ON idempotency_keys (created_at);
