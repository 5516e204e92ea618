#include "controller/cli/names.h"
#include "controller/cli/nouns.h"

static const struct flag flags[] = {
    FLAG("name", "name", TEXT, "as a DNS label, unique in the site"),
    FLAG_OBJECT("site", "site_id", &noun_site, "whose rules may use it"),
    FLAG("prefixes", "prefixes", LIST, "IPv4 and IPv6; overlaps are joined"),
    FLAG("description", "description", TEXT, "for people"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("NAME", "name", TEXT),
    COLUMN_REF("SITE", "site_id", &noun_site),
    COLUMN("PREFIXES", "prefixes", LIST),
    COLUMN("USED BY RULES", "rules_using", TEXT),
    WIDE("DESCRIPTION", "description", TEXT),
    WIDE("CHANGED", "updated_at", AGE),
    WIDE("ID", "id", TEXT),
    COLUMNS_END,
};

static const struct verb verbs[] = {
    VERB_LIST("Lists the address groups", "address-group list --site branch", nouns_by_site),
    VERB_SHOW("Shows an address group whole", "address-group show partners"),
    VERB_CREATE("Creates an address group",
                "address-group create --name partners --site branch --prefixes "
                "203.0.113.0/24,2001:db8:7::/48",
                flags, "name site prefixes"),
    VERB_SET("Changes an address group, and with it every rule that uses it",
             "address-group set branch/partners --prefixes 203.0.113.0/24", flags),
    VERB_DELETE("Deletes an address group that no rule uses", "address-group delete partners --yes",
                true),
    VERBS_END,
};

/* "branch/partners": the name is unique in its site alone. */
static int label(struct cli *c, const struct json_at *item, struct strbuf *out)
{
    strbuf_printf(out, "%s/", names_of(c, &noun_site, json_plain_at(item, "site_id")));
    strbuf_puts(out, json_plain_at(item, "name"));
    return CLI_OK;
}

const struct noun noun_address_group = {
    .name = "address-group",
    .title = "Address groups: prefixes that rules name together; SITE/NAME where two sites have "
             "one of the name",
    .path = "/api/v1/address-groups",
    .columns = columns,
    .verbs = verbs,
    .label = label,
    .short_names = true,
    .member = "group",
};
