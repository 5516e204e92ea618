#include "controller/cli/names.h"
#include "controller/cli/nouns.h"

static const struct column columns[] = {
    COLUMN_REF("SITE A", "site_a_id", &noun_site),
    COLUMN_REF("SITE B", "site_b_id", &noun_site),
    COLUMN("SEPARATED", "updated_at", AGE),
    WIDE("ID", "id", TEXT),
    COLUMNS_END,
};

static const struct verb verbs[] = {
    VERB_LIST("Lists the pairs of sites that were joined and are no longer",
              "separation list --site branch-1", nouns_by_site),
    VERB_SHOW("Shows a separation whole", "separation show branch-1/branch-2"),
    VERB_DELETE("Lets the two sites reach each other outside of Hawser, in plain",
                "separation delete branch-1/branch-2 --yes", true),
    VERBS_END,
};

/* A pair is called by its two sites, "branch-1/branch-2", as the list has them. */
static int label(struct cli *c, const struct json_at *item, struct strbuf *out)
{
    return names_pair(c, &noun_site, item, "site_a_id", "site_b_id", out);
}

const struct noun noun_separation = {
    .name = "separation",
    .title = "Separation: two sites that were joined and are no longer",
    .path = "/api/v1/separations",
    .columns = columns,
    .verbs = verbs,
    .label = label,
};
