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
    {.name = "list",
     .summary = "Lists the pairs of sites that were joined and are no longer",
     .example = "separation list --site branch-1",
     .shows = SHOWS_LIST,
     .method = "GET",
     .flags = nouns_by_site},
    {.name = "show",
     .summary = "Shows a separation whole",
     .example = "separation show branch-1/branch-2",
     .arg = ARG_OBJECT,
     .shows = SHOWS_DETAIL,
     .method = "GET"},
    {.name = "delete",
     .summary = "Lets the two sites reach each other outside of Hawser, in plain",
     .example = "separation delete branch-1/branch-2 --yes",
     .arg = ARG_OBJECT,
     .shows = SHOWS_NOTHING,
     .method = "DELETE",
     .confirm = true},
    VERBS_END,
};

/* A pair is called by its two sites, "branch-1/branch-2", as the list has them. */
static int label(struct cli *c, const struct json_at *item, struct strbuf *out)
{
    struct json_at a, b;
    if (!json_find(item, "site_a_id", &a) || !json_find(item, "site_b_id", &b))
        return CLI_OK;
    strbuf_printf(out, "%s/", names_of(c, &noun_site, json_plain(&a)));
    strbuf_puts(out, names_of(c, &noun_site, json_plain(&b)));
    return CLI_OK;
}

const struct noun noun_separation = {
    .name = "separation",
    .title = "Separation: two sites that were joined and are no longer",
    .path = "/api/v1/separations",
    .columns = columns,
    .verbs = verbs,
    .label = label,
};
