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

static const char *const weak_suites[] = {"none", "aes-256-gmac", NULL};

static const struct flag permit_flags[] = {
    FLAG_WORDS("suite", "suite", weak_suites, "none is plaintext, aes-256-gmac is not secret"),
    FLAG("reason", "reason", TEXT, "at least 10 characters; it stands in the audit"),
    FLAG("ends-at", "ends_at", TIME, "when encryption returns; at most 90 days ahead"),
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
    COLUMN("PERMITS", "permission", PERMISSION),
    WIDE("RESILIENT", "path_resiliency", BOOL),
    WIDE("PATH", "path", TEXT),
    WIDE("FAMILY", "underlay_family", TEXT),
    WIDE("PROBES MS", "liveness.interval_ms", TEXT),
    WIDE("CHANGED", "updated_at", AGE),
    WIDE("ID", "id", TEXT),
    COLUMNS_END,
};

static const struct column policy_columns[] = {
    COLUMN("PERMITS", "permission", PERMISSION),
    COLUMN("IN EFFECT", "permission.in_effect", BOOL),
    COLUMN("WHY", "permission.in_effect_reason", TEXT),
    COLUMN("REASON", "permission.reason", TEXT),
    COLUMN("BY", "permission.created_by", TEXT),
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
    {.name = "policy",
     .summary = "Shows what is permitted besides encryption, and each condition of it",
     .example = "connection policy branch-hub",
     .arg = ARG_OBJECT,
     .shows = SHOWS_DETAIL,
     .method = "GET",
     .suffix = "/encryption-policy"},
    {.name = "permit",
     .summary =
         "Permits plaintext, or traffic that is not secret, until a date; refused unless every "
         "condition is met",
     .example = "connection permit branch-hub --suite none --reason 'bulk copy in our own fibre' "
                "--ends-at 7d --yes",
     .arg = ARG_OBJECT,
     .shows = SHOWS_ROW,
     .method = "PUT",
     .suffix = "/encryption-policy",
     .flags = permit_flags,
     .required = "suite reason ends-at",
     .columns = policy_columns,
     .confirm = true},
    {.name = "encrypt",
     .summary = "Ends the permission: everything is encrypted again, at once",
     .example = "connection encrypt branch-hub",
     .arg = ARG_OBJECT,
     .shows = SHOWS_NOTHING,
     .method = "DELETE",
     .suffix = "/encryption-policy"},
    VERBS_END,
};

const struct noun noun_connection = {
    .name = "connection",
    .title = "Connections: which sites reach each other, and how",
    .path = "/api/v1/connections",
    .columns = columns,
    .verbs = verbs,
};
