-- States as text: queued running succeeded failed cancelled expired. No reference to gateways: the record of what was done
-- outlives them. `request` and `result` are JSON as the API shows them.
CREATE TABLE operations (
    id           BLOB PRIMARY KEY,
    number       INTEGER NOT NULL UNIQUE,
    kind         TEXT NOT NULL,
    state        TEXT NOT NULL,
    gateway_id   BLOB NOT NULL,
    request      TEXT NOT NULL,
    result       TEXT,
    error_code   TEXT NOT NULL,
    error_text   TEXT NOT NULL,
    cancelled_at INTEGER NOT NULL,
    created_by   BLOB NOT NULL,
    created_at   INTEGER NOT NULL,
    started_at   INTEGER NOT NULL,
    finished_at  INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX operations_gateway ON operations (gateway_id, number);
CREATE INDEX operations_finished ON operations (finished_at);

-- What one agent is asked to do for an operation: one step of it. `sequence` is the agent's last report's.
CREATE TABLE operation_commands (
    id           BLOB PRIMARY KEY,
    operation_id BLOB NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
    position     INTEGER NOT NULL,
    name         TEXT NOT NULL,
    gateway_id   BLOB NOT NULL,
    state        TEXT NOT NULL,
    params       TEXT NOT NULL,
    sequence     INTEGER NOT NULL,
    done         INTEGER NOT NULL,
    total        INTEGER NOT NULL,
    progress     TEXT NOT NULL,
    result       TEXT,
    error_code   TEXT NOT NULL,
    error_text   TEXT NOT NULL,
    started_at   INTEGER NOT NULL,
    reported_at  INTEGER NOT NULL,
    finished_at  INTEGER NOT NULL,
    UNIQUE (operation_id, position)
) STRICT;
CREATE INDEX operation_commands_open ON operation_commands (gateway_id) WHERE finished_at = 0;
