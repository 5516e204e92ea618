CREATE TABLE rulesets (
    id          BLOB PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    site_id     BLOB NOT NULL REFERENCES sites (id),
    scope       TEXT NOT NULL,
    enabled     INTEGER NOT NULL,
    base_allow  INTEGER NOT NULL,
    log_base    INTEGER NOT NULL,
    description TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    UNIQUE (site_id, scope)
) STRICT;

CREATE TABLE address_groups (
    id          BLOB PRIMARY KEY,
    name        TEXT NOT NULL,
    site_id     BLOB NOT NULL REFERENCES sites (id),
    description TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    UNIQUE (site_id, name)
) STRICT;

CREATE TABLE address_group_prefixes (
    group_id BLOB NOT NULL REFERENCES address_groups (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    family   INTEGER NOT NULL,
    length   INTEGER NOT NULL,
    first    BLOB NOT NULL,
    PRIMARY KEY (group_id, position)
) STRICT;

-- `rank` orders the rules of a set and has gaps (1024, 2048, …), so that one can be moved without touching the others; the API's
-- position is counted from it. `match` is canonical JSON {"protocol","source","destination","source_ports",
-- "destination_ports"} as in the API, prefixes and groups by id.
CREATE TABLE rules (
    id          BLOB PRIMARY KEY,
    ruleset_id  BLOB NOT NULL REFERENCES rulesets (id) ON DELETE CASCADE,
    rank        INTEGER NOT NULL,
    name        TEXT NOT NULL,
    enabled     INTEGER NOT NULL,
    allow       INTEGER NOT NULL,
    match       TEXT NOT NULL,
    log         INTEGER NOT NULL,
    description TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    UNIQUE (ruleset_id, name)
) STRICT;
CREATE INDEX rules_order ON rules (ruleset_id, rank);

-- Which rules name a group, so that it can't go while one does.
CREATE TABLE rule_groups (
    rule_id  BLOB NOT NULL REFERENCES rules (id) ON DELETE CASCADE,
    group_id BLOB NOT NULL REFERENCES address_groups (id),
    PRIMARY KEY (rule_id, group_id)
) STRICT;
CREATE INDEX rule_groups_group ON rule_groups (group_id);

-- `packets` and `bytes` only rise; `last_*` is what the gateway said last, to tell by how much. With a `what` other than
-- `rule`, rule_id is the ruleset's id.
CREATE TABLE rule_counters (
    rule_id      BLOB NOT NULL,
    what         TEXT NOT NULL CHECK (what IN ('rule', 'base', 'established', 'invalid')),
    gateway_id   BLOB NOT NULL REFERENCES gateways (id) ON DELETE CASCADE,
    packets      INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    last_packets INTEGER NOT NULL,
    last_bytes   INTEGER NOT NULL,
    observed_at  INTEGER NOT NULL,
    PRIMARY KEY (rule_id, what, gateway_id)
) STRICT;
CREATE INDEX rule_counters_gateway ON rule_counters (gateway_id);
CREATE TRIGGER rules_gone AFTER DELETE ON rules BEGIN
    DELETE FROM rule_counters WHERE rule_id = OLD.id;
END;
CREATE TRIGGER rulesets_gone AFTER DELETE ON rulesets BEGIN
    DELETE FROM rule_counters WHERE rule_id = OLD.id;
END;

-- How the ruleset stands on a gateway, from its last report.
CREATE TABLE firewall_status (
    gateway_id        BLOB PRIMARY KEY REFERENCES gateways (id) ON DELETE CASCADE,
    ruleset_id        BLOB NOT NULL,
    observed_at       INTEGER NOT NULL,
    applied           INTEGER NOT NULL,
    error             TEXT NOT NULL,
    conntrack_entries INTEGER NOT NULL,
    conntrack_max     INTEGER NOT NULL
) STRICT;
