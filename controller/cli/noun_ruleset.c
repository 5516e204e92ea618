#include "controller/cli/nouns.h"

static const char *const scopes[] = {"site", "transit", NULL};
static const char *const actions[] = {"allow", "deny", NULL};

static const struct flag flags[] = {
    FLAG("name", "name", TEXT, "as a DNS label"),
    FLAG_OBJECT("site", "site_id", &noun_site, "whose gateways carry it out"),
    FLAG_WORDS("scope", "scope", scopes, "between the site's network and the tunnels"),
    FLAG("enabled", "enabled", BOOL, "false lets everything through"),
    FLAG_WORDS("base-policy", "base_policy", actions, "for connections that no rule decides"),
    FLAG("log-base", "log_base", BOOL, "logs what the base policy decides"),
    FLAG("description", "description", TEXT, "for people"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("NAME", "name", TEXT),
    COLUMN_REF("SITE", "site_id", &noun_site),
    COLUMN("ENABLED", "enabled", BOOL),
    COLUMN("BASE", "base_policy", TEXT),
    COLUMN("RULES", "rules_total", TEXT),
    COLUMN_TALLY("GATEWAYS", "gateways", "state"),
    COLUMN("BASE HITS", "counters.base.packets", TEXT),
    COLUMN("SEEN", "counters.base.observed_at", AGE),
    WIDE("SCOPE", "scope", TEXT),
    WIDE("ESTABLISHED", "counters.established.packets", TEXT),
    WIDE("INVALID", "counters.invalid.packets", TEXT),
    WIDE("DESCRIPTION", "description", TEXT),
    WIDE("CHANGED", "updated_at", AGE),
    WIDE("ID", "id", TEXT),
    COLUMNS_END,
};

static const struct verb verbs[] = {
    VERB_LIST("Lists the rulesets with how they stand on their gateways",
              "ruleset list --site branch", nouns_by_site),
    VERB_SHOW("Shows a ruleset whole, without its rules", "ruleset show branch-edge"),
    VERB_CREATE("Creates an empty ruleset",
                "ruleset create --name branch-edge --site branch --base-policy deny", flags,
                "name site"),
    VERB_SET("Changes a ruleset", "ruleset set branch-edge --enabled false", flags),
    VERB_DELETE("Deletes a ruleset with its rules", "ruleset delete branch-edge --yes", true),
    VERBS_END,
};

const struct noun noun_ruleset = {
    .name = "ruleset",
    .title = "Rulesets: a site's firewall",
    .path = "/api/v1/rulesets",
    .columns = columns,
    .verbs = verbs,
};
