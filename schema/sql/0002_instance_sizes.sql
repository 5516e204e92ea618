-- The catalogue (schema/data/) is compiled into the controller, which brings these rows up to it at each start: by_operator = 0
-- and published = 1 are the catalogue's. Ids stay with (provider, size). 0 and '' mean not known, NULL in figures too.

CREATE TABLE instance_sizes (
    id           BLOB PRIMARY KEY,
    provider     TEXT NOT NULL,
    size         TEXT NOT NULL,
    vcpus        INTEGER NOT NULL,
    memory_bytes INTEGER NOT NULL,
    nic_bps      INTEGER NOT NULL,
    note         TEXT NOT NULL,
    by_operator  INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    revision     INTEGER NOT NULL,
    UNIQUE (provider, size)
) STRICT;

-- `position` is the row of published_throughput.csv, so that figures are shown in the order of their source; 0 for measured ones.
CREATE TABLE size_figures (
    id             BLOB PRIMARY KEY,
    size_id        BLOB NOT NULL REFERENCES instance_sizes (id) ON DELETE CASCADE,
    published      INTEGER NOT NULL,
    position       INTEGER NOT NULL,
    source         TEXT NOT NULL,
    role           TEXT NOT NULL,
    mtu            INTEGER NOT NULL,
    tcp_streams    INTEGER NOT NULL,
    encryption     TEXT NOT NULL,
    gro            INTEGER,
    metric         TEXT NOT NULL,
    unit           TEXT NOT NULL,
    value          REAL NOT NULL,
    throughput_bps REAL,
    note           TEXT NOT NULL,
    method         TEXT NOT NULL,
    spread_bps     REAL,
    runs           INTEGER NOT NULL,
    measured_at    INTEGER NOT NULL,
    created_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX size_figures_size ON size_figures (size_id, published, position);

-- Which rule gave a link's number of tunnels, in words.
ALTER TABLE links ADD COLUMN tunnels_reason TEXT NOT NULL DEFAULT '';
