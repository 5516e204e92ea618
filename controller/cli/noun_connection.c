#include "controller/cli/nouns.h"

static const char *const paths[] = {"auto", "private", "public", NULL};

static const struct flag flags[] = {
    FLAG("name", "name", TEXT, "as a DNS label"),
    FLAG_OBJECT("site-a", "site_a_id", &noun_site, "one of the two sites"),
    FLAG_OBJECT("site-b", "site_b_id", &noun_site, "the other one; at least one is a transit"),
    FLAG_WORDS("path", "path", paths, "which endpoints may be used"),
    FLAG("underlay-family", "underlay_family", UINT, "4 or 6; null takes what both ends have"),
    FLAG("tunnels", "tunnels", UINT, "of each link, 1 to 50; null leaves it to the controller"),
    FLAG("suites", "suites", LIST, "cipher suites allowed, the preferred first"),
    FLAG("path-resiliency", "path_resiliency", BOOL, "never a link of one tunnel"),
    FLAG("enabled", "enabled", BOOL, "false takes it out of use"),
    FLAG("liveness-interval-ms", "liveness.interval_ms", UINT, "between the probes of a tunnel"),
    FLAG("liveness-missed", "liveness.missed", UINT, "probes in a row until a tunnel is down"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("NAME", "name", TEXT),
    COLUMN("KIND", "kind", TEXT),
    COLUMN_REF("SITE A", "site_a_id", &noun_site),
    COLUMN_REF("SITE B", "site_b_id", &noun_site),
    COLUMN("TUNNELS", "tunnels", TEXT),
    COLUMN("SUITES", "suites", LIST),
    COLUMN("ENABLED", "enabled", BOOL),
    WIDE("PATH", "path", TEXT),
    WIDE("FAMILY", "underlay_family", TEXT),
    WIDE("PROBES MS", "liveness.interval_ms", TEXT),
    WIDE("CHANGED", "updated_at", AGE),
    WIDE("ID", "id", TEXT),
    COLUMNS_END,
};

static const struct verb verbs[] = {
    VERB_LIST("Lists the connections", "connection list --site branch", nouns_by_site),
    VERB_SHOW("Shows a connection whole", "connection show branch-hub"),
    VERB_CREATE("Creates a connection",
                "connection create --name branch-hub --site-a branch --site-b hub --tunnels 8",
                flags, "name site-a site-b"),
    VERB_SET("Changes a connection", "connection set branch-hub --tunnels null", flags),
    VERB_DELETE("Deletes a connection and with it its links", "connection delete branch-hub --yes",
                true),
    VERBS_END,
};

const struct noun noun_connection = {
    .name = "connection",
    .title = "Connections: which sites reach each other, and how",
    .path = "/api/v1/connections",
    .columns = columns,
    .verbs = verbs,
};
