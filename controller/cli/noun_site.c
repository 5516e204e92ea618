#include "controller/cli/nouns.h"

static const char *const providers[] = {"aws", "azure", "gcp", "oci", "vsphere", "onprem", NULL};
static const char *const roles[] = {"spoke", "transit", NULL};
static const char *const takeovers[] = {"none", "arp", "ecmp", "cloud_routes", NULL};

static const struct flag flags[] = {
    FLAG("name", "name", TEXT, "as a DNS label"),
    FLAG_WORDS("provider", "provider", providers, "where it is"),
    FLAG("region", "region", TEXT, "the provider's name of it"),
    FLAG_WORDS("role", "role", roles, "spokes attach to transits, transits peer"),
    FLAG("domain", "domain", TEXT, "sites of different domains don't reach each other"),
    FLAG("cidrs", "cidrs", LIST, "its prefixes, IPv4 and IPv6"),
    FLAG("trusted-underlay", "trusted_underlay", BOOL, "one of the three acts before plaintext"),
    FLAG_WORDS("takeover", "takeover", takeovers, "how hosts follow when a gateway goes away"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("NAME", "name", TEXT),
    COLUMN("ROLE", "role", TEXT),
    COLUMN("PROVIDER", "provider", TEXT),
    COLUMN("REGION", "region", TEXT),
    COLUMN("DOMAIN", "domain", TEXT),
    COLUMN("CIDRS", "cidrs", LIST),
    WIDE("TAKEOVER", "takeover", TEXT),
    WIDE("TRUSTED", "trusted_underlay", BOOL),
    WIDE("CHANGED", "updated_at", AGE),
    WIDE("ID", "id", TEXT),
    COLUMNS_END,
};

static const struct verb verbs[] = {
    VERB_LIST("Lists the sites", "site list", NULL),
    VERB_SHOW("Shows a site whole", "site show branch"),
    VERB_CREATE("Creates a site",
                "site create --name branch --provider onprem --role spoke --cidrs "
                "10.1.0.0/16,fd01::/64",
                flags, "name provider role"),
    VERB_SET("Changes a site", "site set branch --region eu-central-1", flags),
    VERB_DELETE("Deletes a site that no gateway and no connection uses", "site delete branch --yes",
                true),
    VERBS_END,
};

const struct noun noun_site = {
    .name = "site",
    .title = "Sites: networks with their prefixes",
    .path = "/api/v1/sites",
    .columns = columns,
    .verbs = verbs,
};
