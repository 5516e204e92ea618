ALTER TABLE connections ADD COLUMN path_resiliency INTEGER NOT NULL DEFAULT 0;

-- A row is a permission; without one encryption is the only thing. An ended one is deleted when it ends.
CREATE TABLE encryption_permissions (
    connection_id BLOB PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
    suite         TEXT NOT NULL,
    reason        TEXT NOT NULL,
    ends_at       INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    created_by    BLOB NOT NULL,
    created_name  TEXT NOT NULL
) STRICT;
CREATE INDEX encryption_permissions_end ON encryption_permissions (ends_at);
