-- Ids are 16-byte blobs, times seconds since 1970, booleans 0 or 1. `first` and `last` of a prefix are its
-- lowest and highest address (IPv4: 4 bytes), so that overlaps are a range comparison.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE revision (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    value INTEGER NOT NULL
) STRICT;
INSERT INTO revision VALUES (1, 0);

CREATE TABLE sites (
    id               BLOB PRIMARY KEY,
    name             TEXT NOT NULL UNIQUE,
    provider         TEXT NOT NULL,
    region           TEXT NOT NULL,
    role             INTEGER NOT NULL,
    domain           TEXT NOT NULL,
    trusted_underlay INTEGER NOT NULL,
    takeover         TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    revision         INTEGER NOT NULL
) STRICT;

CREATE TABLE site_cidrs (
    site_id  BLOB NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    family   INTEGER NOT NULL,
    length   INTEGER NOT NULL,
    first    BLOB NOT NULL,
    last     BLOB NOT NULL,
    PRIMARY KEY (site_id, position)
) STRICT;
CREATE INDEX site_cidrs_range ON site_cidrs (family, first, last);

CREATE TABLE gateways (
    id                    BLOB PRIMARY KEY,
    name                  TEXT NOT NULL UNIQUE,
    site_id               BLOB NOT NULL REFERENCES sites (id),
    size                  TEXT NOT NULL,
    port_base             INTEGER NOT NULL,
    weight                INTEGER NOT NULL,
    state                 INTEGER NOT NULL,
    overlay4              BLOB UNIQUE,
    overlay6              BLOB UNIQUE,
    endpoints_by_operator INTEGER NOT NULL,
    interfaces            TEXT,
    workers               INTEGER NOT NULL,
    agent_version         TEXT NOT NULL,
    boot_id               TEXT NOT NULL,
    cert_serial           TEXT NOT NULL,
    cert_not_after        INTEGER NOT NULL,
    created_at            INTEGER NOT NULL,
    updated_at            INTEGER NOT NULL,
    revision              INTEGER NOT NULL
) STRICT;
CREATE INDEX gateways_site ON gateways (site_id);

CREATE TABLE gateway_endpoints (
    gateway_id BLOB NOT NULL REFERENCES gateways (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    address    BLOB NOT NULL,
    is_public  INTEGER NOT NULL,
    reachable  INTEGER NOT NULL,
    PRIMARY KEY (gateway_id, position)
) STRICT;

-- Certificates given out. No reference to gateways: a denial outlives the gateway.
CREATE TABLE certificates (
    serial     TEXT PRIMARY KEY,
    gateway_id BLOB NOT NULL,
    issued_at  INTEGER NOT NULL,
    not_after  INTEGER NOT NULL
) STRICT;
CREATE INDEX certificates_gateway ON certificates (gateway_id);

CREATE TABLE connections (
    id                   BLOB PRIMARY KEY,
    name                 TEXT NOT NULL UNIQUE,
    site_a_id            BLOB NOT NULL REFERENCES sites (id),
    site_b_id            BLOB NOT NULL REFERENCES sites (id),
    kind                 INTEGER NOT NULL,
    path                 INTEGER NOT NULL,
    underlay_family      INTEGER NOT NULL,
    tunnels              INTEGER NOT NULL,
    suites               TEXT NOT NULL,
    enabled              INTEGER NOT NULL,
    liveness_interval_ms INTEGER NOT NULL,
    liveness_missed      INTEGER NOT NULL,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL,
    revision             INTEGER NOT NULL,
    CHECK (site_a_id <> site_b_id)
) STRICT;
CREATE INDEX connections_site_a ON connections (site_a_id);
CREATE INDEX connections_site_b ON connections (site_b_id);

CREATE TABLE links (
    id               BLOB PRIMARY KEY,
    connection_id    BLOB REFERENCES connections (id) ON DELETE CASCADE,
    kind             INTEGER NOT NULL,
    gateway_a_id     BLOB NOT NULL REFERENCES gateways (id) ON DELETE CASCADE,
    gateway_b_id     BLOB NOT NULL REFERENCES gateways (id) ON DELETE CASCADE,
    tunnels          INTEGER NOT NULL,
    tunnels_override INTEGER NOT NULL,
    port_offset      INTEGER NOT NULL,
    enabled          INTEGER NOT NULL,
    address_a        BLOB,
    address_b        BLOB,
    refusal          TEXT NOT NULL,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    revision         INTEGER NOT NULL
) STRICT;
CREATE INDEX links_connection ON links (connection_id);
CREATE INDEX links_gateway_a ON links (gateway_a_id);
CREATE INDEX links_gateway_b ON links (gateway_b_id);

-- Numbers of domain names in signed configs; a number stays with its name.
CREATE TABLE domains (
    name   TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE
) STRICT;

CREATE TABLE enrolment_tokens (
    id            BLOB PRIMARY KEY,
    secret_sha256 BLOB NOT NULL,
    site_id       BLOB NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
    gateway_name  TEXT NOT NULL,
    size          TEXT NOT NULL,
    max_uses      INTEGER NOT NULL,
    uses          INTEGER NOT NULL,
    expires_at    INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    CHECK (uses <= max_uses)
) STRICT;
CREATE INDEX enrolment_tokens_site ON enrolment_tokens (site_id);

CREATE TABLE enrolment_token_uses (
    token_id        BLOB NOT NULL REFERENCES enrolment_tokens (id) ON DELETE CASCADE,
    key_sha256      BLOB NOT NULL,
    gateway_id      BLOB NOT NULL,
    certificate_pem TEXT NOT NULL,
    used_at         INTEGER NOT NULL,
    PRIMARY KEY (token_id, key_sha256)
) STRICT;

CREATE TABLE gateway_configs (
    gateway_id BLOB PRIMARY KEY REFERENCES gateways (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    body       TEXT NOT NULL,
    signature  BLOB NOT NULL,
    signer     BLOB NOT NULL
) STRICT;

-- Exactly one of gateway_id and serial is set in a row.
CREATE TABLE denials (
    number     INTEGER NOT NULL,
    gateway_id BLOB UNIQUE,
    serial     TEXT UNIQUE,
    created_at INTEGER NOT NULL,
    CHECK ((gateway_id IS NULL) <> (serial IS NULL))
) STRICT;

CREATE TABLE denial_peers (
    gateway_id BLOB NOT NULL,
    peer_id    BLOB NOT NULL REFERENCES gateways (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    PRIMARY KEY (gateway_id, peer_id)
) STRICT;
CREATE INDEX denial_peers_peer ON denial_peers (peer_id);

CREATE TABLE denials_doc (
    one       INTEGER PRIMARY KEY CHECK (one = 1),
    number    INTEGER NOT NULL,
    body      TEXT NOT NULL,
    signature BLOB NOT NULL,
    signer    BLOB NOT NULL
) STRICT;

CREATE TABLE api_tokens (
    id         BLOB PRIMARY KEY,
    sha256     BLOB NOT NULL UNIQUE,
    prefix     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER NOT NULL
) STRICT;

CREATE TABLE telemetry_last (
    gateway_id          BLOB PRIMARY KEY REFERENCES gateways (id) ON DELETE CASCADE,
    observed_at         INTEGER NOT NULL,
    received            INTEGER NOT NULL,
    applied             INTEGER NOT NULL,
    in_force            INTEGER NOT NULL,
    refused             TEXT NOT NULL,
    denials_revision    INTEGER NOT NULL,
    interval_seconds    REAL NOT NULL,
    goodput_tx_bps      REAL NOT NULL,
    goodput_rx_bps      REAL NOT NULL,
    wire_tx_bps         REAL NOT NULL,
    wire_rx_bps         REAL NOT NULL,
    links_up            INTEGER NOT NULL,
    links_degraded      INTEGER NOT NULL,
    links_down          INTEGER NOT NULL,
    dataplane_connected INTEGER NOT NULL,
    report              TEXT NOT NULL
) STRICT;

CREATE TABLE link_status (
    link_id       BLOB NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    gateway_id    BLOB NOT NULL REFERENCES gateways (id) ON DELETE CASCADE,
    observed_at   INTEGER NOT NULL,
    state         TEXT NOT NULL,
    reason        TEXT NOT NULL,
    tunnels_up    INTEGER NOT NULL,
    tunnels_total INTEGER NOT NULL,
    PRIMARY KEY (link_id, gateway_id)
) STRICT;
CREATE INDEX link_status_gateway ON link_status (gateway_id);

-- One row a report, not one a tunnel.
CREATE TABLE telemetry_history (
    row_id      INTEGER PRIMARY KEY AUTOINCREMENT,
    gateway_id  BLOB NOT NULL REFERENCES gateways (id) ON DELETE CASCADE,
    observed_at INTEGER NOT NULL,
    report      TEXT NOT NULL
) STRICT;
CREATE INDEX telemetry_history_gateway ON telemetry_history (gateway_id, row_id);
CREATE INDEX telemetry_history_time ON telemetry_history (observed_at);
