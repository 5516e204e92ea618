#include "controller/cli/nouns.h"

static const char *const providers[] = {"aws", "azure", "gcp", "oci", "vsphere", "onprem", NULL};
static const char *const roles[] = {"spoke", "transit", NULL};
static const char *const takeovers[] = {"none", "arp", "ecmp", "cloud_routes", NULL};

static const struct flag flags[] = {
    {"name", "name", FLAG_TEXT, "as a DNS label", NULL, NULL},
    {"provider", "provider", FLAG_WORD, "where it is", providers, NULL},
    {"region", "region", FLAG_TEXT, "the provider's name of it", NULL, NULL},
    {"role", "role", FLAG_WORD, "spokes attach to transits, transits peer", roles, NULL},
    {"domain", "domain", FLAG_TEXT, "sites of different domains don't reach each other", NULL,
     NULL},
    {"cidrs", "cidrs", FLAG_LIST, "its prefixes, IPv4 and IPv6", NULL, NULL},
    {"trusted-underlay", "trusted_underlay", FLAG_BOOL, "one of the three acts before plaintext",
     NULL, NULL},
    {"takeover", "takeover", FLAG_WORD, "how hosts follow when a gateway goes away", takeovers,
     NULL},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct column columns[] = {
    {"NAME", "name", CELL_TEXT, false, NULL, NULL},
    {"ROLE", "role", CELL_TEXT, false, NULL, NULL},
    {"PROVIDER", "provider", CELL_TEXT, false, NULL, NULL},
    {"REGION", "region", CELL_TEXT, false, NULL, NULL},
    {"DOMAIN", "domain", CELL_TEXT, false, NULL, NULL},
    {"CIDRS", "cidrs", CELL_LIST, false, NULL, NULL},
    {"TAKEOVER", "takeover", CELL_TEXT, true, NULL, NULL},
    {"TRUSTED", "trusted_underlay", CELL_BOOL, true, NULL, NULL},
    {"CHANGED", "updated_at", CELL_AGE, true, NULL, NULL},
    {"ID", "id", CELL_TEXT, true, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

static const struct verb verbs[] = {
    {.name = "list",
     .summary = "Lists the sites",
     .example = "site list",
     .shows = SHOWS_LIST,
     .method = "GET"},
    {.name = "show",
     .summary = "Shows a site whole",
     .example = "site show branch",
     .arg = ARG_OBJECT,
     .shows = SHOWS_DETAIL,
     .method = "GET"},
    {.name = "create",
     .summary = "Creates a site",
     .example = "site create --name branch --provider onprem --role spoke --cidrs "
                "10.1.0.0/16,fd01::/64",
     .shows = SHOWS_ROW,
     .method = "POST",
     .flags = flags,
     .required = "name provider role"},
    {.name = "set",
     .summary = "Changes a site",
     .example = "site set branch --region eu-central-1",
     .arg = ARG_OBJECT,
     .shows = SHOWS_ROW,
     .method = "PATCH",
     .flags = flags},
    {.name = "delete",
     .summary = "Deletes a site that no gateway and no connection uses",
     .example = "site delete branch --yes",
     .arg = ARG_OBJECT,
     .shows = SHOWS_NOTHING,
     .method = "DELETE",
     .confirm = true},
    {.name = NULL},
};

const struct noun noun_site = {
    .name = "site",
    .title = "Sites: networks with their prefixes",
    .path = "/api/v1/sites",
    .columns = columns,
    .verbs = verbs,
};
