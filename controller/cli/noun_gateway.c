#include "controller/cli/nouns.h"

static const struct flag flags[] = {
    FLAG("name", "name", TEXT, "as a DNS label"),
    FLAG_OBJECT("site", "site_id", &noun_site, "where it stands"),
    FLAG("size", "size", TEXT, "instance size, as its provider names it"),
    FLAG("port-base", "port_base", UINT, "first of its 50 UDP ports, and its TCP port"),
    FLAG("endpoints", "endpoints", ENDPOINTS, "underlay addresses; null leaves them to the agent"),
    FLAG("weight", "weight", UINT, "share of its site's flows, against the others'"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("NAME", "name", TEXT),
    COLUMN_REF("SITE", "site_id", &noun_site),
    COLUMN("ENROLMENT", "state", TEXT),
    COLUMN("STATE", "status.state", STATE),
    COLUMN("SEEN", "status.observed_at", AGE),
    COLUMN("SENT", "telemetry.goodput_tx_bps", RATE),
    COLUMN("RECEIVED", "telemetry.goodput_rx_bps", RATE),
    COLUMN_OF("IN FORCE", "revisions.in_force", "revisions.config"),
    WIDE("SIZE", "size", TEXT),
    WIDE("CLOUD", "cloud.provider", TEXT),
    WIDE("REGION", "cloud.region", TEXT),
    WIDE("WEIGHT", "weight", TEXT),
    WIDE("AGENT", "agent_version", TEXT),
    WIDE("CERTIFICATE", "certificate.not_after", LEFT),
    WIDE("OVERLAY", "overlay.ipv4", TEXT),
    WIDE("REASON", "status.reason", TEXT),
    WIDE("ID", "id", TEXT),
    COLUMNS_END,
};

/* Peers that have not said yet that they dropped its keys. */
static const struct column revoked_columns[] = {
    COLUMN("NAME", "name", TEXT),
    COLUMN("ENROLMENT", "state", STATE),
    COLUMN("PEERS NOT CONFIRMED", "unconfirmed_peers", COUNT),
    COLUMNS_END,
};

static const struct column worker_columns[] = {
    COLUMN("WORKER", "worker", TEXT),
    COLUMN("BUSY", "busy_ratio", RATIO),
    COLUMN("AT MOST", "busy_ratio_max", RATIO),
    COLUMN("TUNNELS", "tunnels", TEXT),
    COLUMN("HAND-OFFS/S", "handoffs_per_second", TEXT),
    COLUMN("SEEN", "observed_at", AGE),
    COLUMNS_END,
};

static const struct column opening_columns[] = {
    COLUMN("WAY", "direction", TEXT),
    COLUMN("PROTOCOL", "protocol", TEXT),
    COLUMN("OWN PORTS", "local_ports", TEXT),
    COLUMN("PEER", "peer", TEXT),
    COLUMN("ITS PORTS", "remote_ports", TEXT),
    COLUMN("ITS ADDRESSES", "remote_addresses", LIST),
    COLUMN("PURPOSE", "purpose", TEXT),
    WIDE("OWN ADDRESSES", "local_addresses", LIST),
    WIDE("WHY", "why", TEXT),
    COLUMNS_END,
};

static const struct verb verbs[] = {
    VERB_LIST("Lists the gateways", "gateway list --site branch", nouns_by_site),
    VERB_SHOW("Shows a gateway whole", "gateway show gw-branch-1"),
    VERB_CREATE("Creates a gateway",
                "gateway create --name gw-branch-1 --site branch --endpoints "
                "10.1.0.1,203.0.113.7/public/unreachable",
                flags, "name site"),
    VERB_SET("Changes a gateway", "gateway set gw-branch-1 --weight 200", flags),
    VERB_DELETE("Deletes a gateway; one that is enrolled is revoked first",
                "gateway delete gw-branch-1 --yes", true),
    VERB_PARTS("workers", "Lists the workers of a gateway's packet engine",
               "gateway workers gw-branch-1", worker_columns),
    VERB_PARTS("openings", "Lists what a cloud's firewall must let through for a gateway",
               "gateway openings gw-branch-1", opening_columns),
    {.name = "revoke",
     .summary = "Refuses a gateway for good: its requests at once, its peers within seconds",
     .example = "gateway revoke gw-branch-1 --yes",
     .arg = ARG_OBJECT,
     .shows = SHOWS_ROW,
     .method = "POST",
     .suffix = "/revoke",
     .columns = revoked_columns,
     .confirm = true},
    VERBS_END,
};

const struct noun noun_gateway = {
    .name = "gateway",
    .title = "Gateways: machines that run the agent",
    .path = "/api/v1/gateways",
    .columns = columns,
    .verbs = verbs,
};
