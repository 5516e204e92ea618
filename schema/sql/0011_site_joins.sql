-- Pairs of sites, the lower id first, that have been joined: a way between them was in gateways' configs. Once joined is 0
-- their gateways answer "unreachable" instead of sending to each other's prefixes outside of the tunnels.
CREATE TABLE site_joins (
    id         BLOB PRIMARY KEY,
    site_a_id  BLOB NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
    site_b_id  BLOB NOT NULL REFERENCES sites (id) ON DELETE CASCADE,
    joined     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    UNIQUE (site_a_id, site_b_id),
    CHECK (site_a_id < site_b_id)
) STRICT;
CREATE INDEX site_joins_site_b ON site_joins (site_b_id);
