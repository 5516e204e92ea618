#include "controller/cli/names.h"
#include "controller/cli/nouns.h"

static const struct flag flags[] = {
    {"tunnels-override", "tunnels_override", FLAG_UINT, "1 to 50; null as the connection says",
     NULL, NULL},
    {"enabled", "enabled", FLAG_BOOL, "false takes it out of use", NULL, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct flag filters[] = {
    {"connection", "connection_id", FLAG_REF, "only those of this connection", NULL,
     &noun_connection},
    {"gateway", "gateway_id", FLAG_REF, "only those with an end at this gateway", NULL,
     &noun_gateway},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct column columns[] = {
    {"GATEWAY A", "gateway_a_id", CELL_REF, false, &noun_gateway, NULL},
    {"GATEWAY B", "gateway_b_id", CELL_REF, false, &noun_gateway, NULL},
    {"STATE", "status.state", CELL_STATE, false, NULL, NULL},
    {"TUNNELS UP", "status.tunnels_up", CELL_OF, false, NULL, "status.tunnels_total"},
    {"SEEN", "status.observed_at", CELL_AGE, false, NULL, NULL},
    {"REASON", "status.reason", CELL_TEXT, false, NULL, NULL},
    {"KIND", "kind", CELL_TEXT, true, NULL, NULL},
    {"CONNECTION", "connection_id", CELL_REF, true, &noun_connection, NULL},
    {"ADDRESS A", "address_a", CELL_TEXT, true, NULL, NULL},
    {"ADDRESS B", "address_b", CELL_TEXT, true, NULL, NULL},
    {"TUNNELS", "tunnels", CELL_TEXT, true, NULL, NULL},
    {"OVERRIDE", "tunnels_override", CELL_TEXT, true, NULL, NULL},
    {"ENABLED", "enabled", CELL_BOOL, true, NULL, NULL},
    {"ID", "id", CELL_TEXT, true, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

static const struct verb verbs[] = {
    {.name = "list",
     .summary = "Lists the links",
     .example = "link list --gateway gw-branch-1",
     .shows = SHOWS_LIST,
     .method = "GET",
     .flags = filters},
    {.name = "show",
     .summary = "Shows a link whole",
     .example = "link show gw-branch-1/gw-hub-1",
     .arg = ARG_OBJECT,
     .shows = SHOWS_DETAIL,
     .method = "GET"},
    {.name = "set",
     .summary = "Changes a link",
     .example = "link set gw-branch-1/gw-hub-1 --tunnels-override 16",
     .arg = ARG_OBJECT,
     .shows = SHOWS_ROW,
     .method = "PATCH",
     .flags = flags},
    {.name = NULL},
};

/* A link is called by its two gateways, "gw-a/gw-b", as the planner ordered them. */
static int label(struct cli *c, const struct json_at *item, struct strbuf *out)
{
    struct json_at a, b;
    if (!json_find(item, "gateway_a_id", &a) || !json_find(item, "gateway_b_id", &b))
        return CLI_OK;
    strbuf_printf(out, "%s/", names_of(c, &noun_gateway, json_plain(&a)));
    strbuf_puts(out, names_of(c, &noun_gateway, json_plain(&b)));
    return CLI_OK;
}

const struct noun noun_link = {
    .name = "link",
    .title = "Links: one for each gateway pair of a connection, made by the planner; named "
             "GATEWAY-A/GATEWAY-B",
    .path = "/api/v1/links",
    .columns = columns,
    .verbs = verbs,
    .label = label,
};
