#include "controller/cli/nouns.h"

static const char *const paths[] = {"auto", "private", "public", NULL};

static const struct flag flags[] = {
    {"name", "name", FLAG_TEXT, "as a DNS label", NULL, NULL},
    {"site-a", "site_a_id", FLAG_REF, "one of the two sites", NULL, &noun_site},
    {"site-b", "site_b_id", FLAG_REF, "the other one; at least one is a transit", NULL, &noun_site},
    {"path", "path", FLAG_WORD, "which endpoints may be used", paths, NULL},
    {"underlay-family", "underlay_family", FLAG_UINT, "4 or 6; null takes what both ends have",
     NULL, NULL},
    {"tunnels", "tunnels", FLAG_UINT, "of each link, 1 to 50; null leaves it to the controller",
     NULL, NULL},
    {"suites", "suites", FLAG_LIST, "cipher suites allowed, the preferred first", NULL, NULL},
    {"enabled", "enabled", FLAG_BOOL, "false takes it out of use", NULL, NULL},
    {"liveness-interval-ms", "liveness.interval_ms", FLAG_UINT, "between the probes of a tunnel",
     NULL, NULL},
    {"liveness-missed", "liveness.missed", FLAG_UINT, "probes in a row until a tunnel is down",
     NULL, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct flag filters[] = {
    {"site", "site_id", FLAG_REF, "only those of this site", NULL, &noun_site},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct column columns[] = {
    {"NAME", "name", CELL_TEXT, false, NULL, NULL},
    {"KIND", "kind", CELL_TEXT, false, NULL, NULL},
    {"SITE A", "site_a_id", CELL_REF, false, &noun_site, NULL},
    {"SITE B", "site_b_id", CELL_REF, false, &noun_site, NULL},
    {"TUNNELS", "tunnels", CELL_TEXT, false, NULL, NULL},
    {"SUITES", "suites", CELL_LIST, false, NULL, NULL},
    {"ENABLED", "enabled", CELL_BOOL, false, NULL, NULL},
    {"PATH", "path", CELL_TEXT, true, NULL, NULL},
    {"FAMILY", "underlay_family", CELL_TEXT, true, NULL, NULL},
    {"PROBES MS", "liveness.interval_ms", CELL_TEXT, true, NULL, NULL},
    {"CHANGED", "updated_at", CELL_AGE, true, NULL, NULL},
    {"ID", "id", CELL_TEXT, true, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

static const struct verb verbs[] = {
    {.name = "list",
     .summary = "Lists the connections",
     .example = "connection list --site branch",
     .shows = SHOWS_LIST,
     .method = "GET",
     .flags = filters},
    {.name = "show",
     .summary = "Shows a connection whole",
     .example = "connection show branch-hub",
     .arg = ARG_OBJECT,
     .shows = SHOWS_DETAIL,
     .method = "GET"},
    {.name = "create",
     .summary = "Creates a connection",
     .example = "connection create --name branch-hub --site-a branch --site-b hub --tunnels 8",
     .shows = SHOWS_ROW,
     .method = "POST",
     .flags = flags,
     .required = "name site-a site-b"},
    {.name = "set",
     .summary = "Changes a connection",
     .example = "connection set branch-hub --tunnels null",
     .arg = ARG_OBJECT,
     .shows = SHOWS_ROW,
     .method = "PATCH",
     .flags = flags},
    {.name = "delete",
     .summary = "Deletes a connection and with it its links",
     .example = "connection delete branch-hub --yes",
     .arg = ARG_OBJECT,
     .shows = SHOWS_NOTHING,
     .method = "DELETE",
     .confirm = true},
    {.name = NULL},
};

const struct noun noun_connection = {
    .name = "connection",
    .title = "Connections: which sites reach each other, and how",
    .path = "/api/v1/connections",
    .columns = columns,
    .verbs = verbs,
};
