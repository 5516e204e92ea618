ALTER TABLE connections ADD COLUMN path_resiliency INTEGER NOT NULL DEFAULT 0;

-- A row is a permission; without one encryption is the only thing. One that ends leaves this table for the next.
CREATE TABLE encryption_permissions (
    connection_id BLOB PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
    id            BLOB NOT NULL UNIQUE,
    suite         TEXT NOT NULL,
    reason        TEXT NOT NULL,
    ends_at       INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    created_by    BLOB NOT NULL,
    created_name  TEXT NOT NULL
) STRICT;
CREATE INDEX encryption_permissions_end ON encryption_permissions (ends_at);

-- Permissions that have ended, denied to the agents for good. `number` is a number of the denials.
CREATE TABLE ended_permissions (
    id      BLOB PRIMARY KEY,
    number  INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
) STRICT;
CREATE INDEX ended_permissions_number ON ended_permissions (number);
