DROP TABLE telemetry_history;

-- One row a report (step 0) or a rollup (step 60, 900, 3600: `at` is the begin of the period, a multiple of it). `main` holds the
-- gateway and its links, `detail` its tunnels and workers, which are kept for a shorter time and then set to NULL. The bytes of
-- both: docs/protocols.md, "Telemetry".
CREATE TABLE telemetry_rows (
    row_id     INTEGER PRIMARY KEY,
    gateway_id BLOB NOT NULL REFERENCES gateways (id) ON DELETE CASCADE,
    step       INTEGER NOT NULL CHECK (step IN (0, 60, 900, 3600)),
    at         INTEGER NOT NULL,
    main       BLOB NOT NULL,
    detail     BLOB,
    UNIQUE (gateway_id, step, at)
) STRICT;
CREATE INDEX telemetry_rows_expiry ON telemetry_rows (step, at);
CREATE INDEX telemetry_rows_detail ON telemetry_rows (step, at) WHERE detail IS NOT NULL;

-- How far each gateway's rows have been rolled up: the end of the last period that stands in telemetry_rows.
CREATE TABLE telemetry_rolled (
    gateway_id BLOB NOT NULL REFERENCES gateways (id) ON DELETE CASCADE,
    step       INTEGER NOT NULL,
    until      INTEGER NOT NULL,
    PRIMARY KEY (gateway_id, step)
) STRICT;

-- What the last report said beside the state: NULL where it isn't known.
ALTER TABLE link_status ADD COLUMN suite INTEGER NOT NULL DEFAULT 0;
ALTER TABLE link_status ADD COLUMN mtu INTEGER NOT NULL DEFAULT 0;
ALTER TABLE link_status ADD COLUMN tx_bps REAL NOT NULL DEFAULT 0;
ALTER TABLE link_status ADD COLUMN rx_bps REAL NOT NULL DEFAULT 0;
ALTER TABLE link_status ADD COLUMN rtt_us REAL;
ALTER TABLE link_status ADD COLUMN loss_ratio REAL;
ALTER TABLE telemetry_last ADD COLUMN busy_ratio REAL;
-- The first of the problems that the gateway itself tells of.
ALTER TABLE telemetry_last ADD COLUMN problem TEXT NOT NULL DEFAULT '';
