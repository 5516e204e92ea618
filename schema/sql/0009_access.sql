-- API keys: roles, names and ends. The key that bootstrap made is one of them, and has no end. A revoked key is
-- deleted, and the sessions that rest on it with it.
ALTER TABLE api_tokens RENAME TO api_keys;
DELETE FROM api_keys WHERE revoked_at <> 0;
ALTER TABLE api_keys DROP COLUMN revoked_at;
ALTER TABLE api_keys ADD COLUMN name TEXT NOT NULL DEFAULT 'bootstrap';
ALTER TABLE api_keys ADD COLUMN role INTEGER NOT NULL DEFAULT 2; -- 0 viewer, 1 operator, 2 admin
ALTER TABLE api_keys ADD COLUMN created_by TEXT NOT NULL DEFAULT ''; -- name of the key that made it; '': bootstrap
ALTER TABLE api_keys ADD COLUMN last_used_at INTEGER NOT NULL DEFAULT 0; -- 0: never
ALTER TABLE api_keys ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0;   -- 0: never
ALTER TABLE api_keys ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
UPDATE api_keys SET updated_at = created_at;
CREATE UNIQUE INDEX api_keys_name ON api_keys (name);
ALTER TABLE web_sessions RENAME COLUMN api_token_id TO api_key_id;
ALTER TABLE idempotency_keys RENAME COLUMN api_token_id TO api_key_id;

-- The chain of all writes. `record` is the JSON text that is hashed: SHA-256(record) = hash, and it names the hash
-- of the record before. The other columns repeat what lists are filtered by; the verifier holds them against it.
CREATE TABLE audit (
    sequence    INTEGER PRIMARY KEY,
    record      TEXT NOT NULL,
    hash        BLOB NOT NULL,
    at          INTEGER NOT NULL,
    actor_id    BLOB,
    object_type TEXT NOT NULL, -- '' for none
    object_id   BLOB,
    refused     INTEGER NOT NULL
) STRICT;
CREATE INDEX audit_actor ON audit (actor_id) WHERE actor_id IS NOT NULL;
CREATE INDEX audit_object ON audit (object_id) WHERE object_id IS NOT NULL;
-- The newest record once more: its removal shows.
CREATE TABLE audit_head (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    sequence INTEGER NOT NULL,
    hash     BLOB NOT NULL
) STRICT;
INSERT INTO audit_head VALUES (1, 0, zeroblob(32));
