#include "controller/cli/nouns.h"

static const struct flag flags[] = {
    {"name", "name", FLAG_TEXT, "as a DNS label", NULL, NULL},
    {"site", "site_id", FLAG_REF, "where it stands", NULL, &noun_site},
    {"size", "size", FLAG_TEXT, "instance size, as its provider names it", NULL, NULL},
    {"port-base", "port_base", FLAG_UINT, "first of its 50 UDP ports, and its TCP port", NULL,
     NULL},
    {"endpoints", "endpoints", FLAG_ENDPOINTS, "underlay addresses; null leaves them to the agent",
     NULL, NULL},
    {"weight", "weight", FLAG_UINT, "share of its site's flows, against the others'", NULL, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct flag filters[] = {
    {"site", "site_id", FLAG_REF, "only those of this site", NULL, &noun_site},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct column columns[] = {
    {"NAME", "name", CELL_TEXT, false, NULL, NULL},
    {"SITE", "site_id", CELL_REF, false, &noun_site, NULL},
    {"ENROLMENT", "state", CELL_TEXT, false, NULL, NULL},
    {"STATE", "status.state", CELL_STATE, false, NULL, NULL},
    {"SEEN", "status.observed_at", CELL_AGE, false, NULL, NULL},
    {"SENT", "telemetry.goodput_tx_bps", CELL_RATE, false, NULL, NULL},
    {"RECEIVED", "telemetry.goodput_rx_bps", CELL_RATE, false, NULL, NULL},
    {"IN FORCE", "revisions.in_force", CELL_OF, false, NULL, "revisions.config"},
    {"SIZE", "size", CELL_TEXT, true, NULL, NULL},
    {"WEIGHT", "weight", CELL_TEXT, true, NULL, NULL},
    {"AGENT", "agent_version", CELL_TEXT, true, NULL, NULL},
    {"CERTIFICATE", "certificate.not_after", CELL_LEFT, true, NULL, NULL},
    {"OVERLAY", "overlay.ipv4", CELL_TEXT, true, NULL, NULL},
    {"REASON", "status.reason", CELL_TEXT, true, NULL, NULL},
    {"ID", "id", CELL_TEXT, true, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

/* Peers that have not said yet that they dropped its keys. */
static const struct column revoked_columns[] = {
    {"NAME", "name", CELL_TEXT, false, NULL, NULL},
    {"ENROLMENT", "state", CELL_STATE, false, NULL, NULL},
    {"PEERS NOT CONFIRMED", "unconfirmed_peers", CELL_COUNT, false, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

static const struct column worker_columns[] = {
    {"WORKER", "worker", CELL_TEXT, false, NULL, NULL},
    {"BUSY", "busy_ratio", CELL_RATIO, false, NULL, NULL},
    {"AT MOST", "busy_ratio_max", CELL_RATIO, false, NULL, NULL},
    {"TUNNELS", "tunnels", CELL_TEXT, false, NULL, NULL},
    {"HAND-OFFS/S", "handoffs_per_second", CELL_TEXT, false, NULL, NULL},
    {"SEEN", "observed_at", CELL_AGE, false, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

static const struct column opening_columns[] = {
    {"WAY", "direction", CELL_TEXT, false, NULL, NULL},
    {"PROTOCOL", "protocol", CELL_TEXT, false, NULL, NULL},
    {"OWN PORTS", "local_ports", CELL_TEXT, false, NULL, NULL},
    {"PEER", "peer", CELL_TEXT, false, NULL, NULL},
    {"ITS PORTS", "remote_ports", CELL_TEXT, false, NULL, NULL},
    {"ITS ADDRESSES", "remote_addresses", CELL_LIST, false, NULL, NULL},
    {"PURPOSE", "purpose", CELL_TEXT, false, NULL, NULL},
    {"OWN ADDRESSES", "local_addresses", CELL_LIST, true, NULL, NULL},
    {"WHY", "why", CELL_TEXT, true, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

static const struct verb verbs[] = {
    {.name = "list",
     .summary = "Lists the gateways",
     .example = "gateway list --site branch",
     .shows = SHOWS_LIST,
     .method = "GET",
     .flags = filters},
    {.name = "show",
     .summary = "Shows a gateway whole",
     .example = "gateway show gw-branch-1",
     .arg = ARG_OBJECT,
     .shows = SHOWS_DETAIL,
     .method = "GET"},
    {.name = "create",
     .summary = "Creates a gateway",
     .example = "gateway create --name gw-branch-1 --site branch --endpoints "
                "10.1.0.1,203.0.113.7/public/unreachable",
     .shows = SHOWS_ROW,
     .method = "POST",
     .flags = flags,
     .required = "name site"},
    {.name = "set",
     .summary = "Changes a gateway",
     .example = "gateway set gw-branch-1 --weight 200",
     .arg = ARG_OBJECT,
     .shows = SHOWS_ROW,
     .method = "PATCH",
     .flags = flags},
    {.name = "delete",
     .summary = "Deletes a gateway; one that is enrolled is revoked first",
     .example = "gateway delete gw-branch-1 --yes",
     .arg = ARG_OBJECT,
     .shows = SHOWS_NOTHING,
     .method = "DELETE",
     .confirm = true},
    {.name = "workers",
     .summary = "Lists the workers of a gateway's packet engine",
     .example = "gateway workers gw-branch-1",
     .arg = ARG_OBJECT,
     .shows = SHOWS_LIST,
     .method = "GET",
     .suffix = "/workers",
     .columns = worker_columns},
    {.name = "openings",
     .summary = "Lists what a cloud's firewall must let through for a gateway",
     .example = "gateway openings gw-branch-1",
     .arg = ARG_OBJECT,
     .shows = SHOWS_LIST,
     .method = "GET",
     .suffix = "/openings",
     .columns = opening_columns},
    {.name = "revoke",
     .summary = "Refuses a gateway for good: its requests at once, its peers within seconds",
     .example = "gateway revoke gw-branch-1 --yes",
     .arg = ARG_OBJECT,
     .shows = SHOWS_ROW,
     .method = "POST",
     .suffix = "/revoke",
     .columns = revoked_columns,
     .confirm = true},
    {.name = NULL},
};

const struct noun noun_gateway = {
    .name = "gateway",
    .title = "Gateways: machines that run the agent",
    .path = "/api/v1/gateways",
    .columns = columns,
    .verbs = verbs,
};
