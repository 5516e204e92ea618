#include "controller/cli/api.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/table.h"
#include "controller/cli/verbs.h"

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

/* A row for each end of each tunnel. */
static const struct column tunnel_columns[] = {
    {"TUNNEL", "tunnel", CELL_TEXT, false, NULL, NULL},
    {"SEEN BY", "end.gateway_id", CELL_REF, false, &noun_gateway, NULL},
    {"STATE", "end.state", CELL_STATE, false, NULL, NULL},
    {"RTT", "end.rtt_ms.avg", CELL_MS, false, NULL, NULL},
    {"LOSS", "end.loss_ratio", CELL_RATIO, false, NULL, NULL},
    {"MTU", "end.mtu", CELL_TEXT, false, NULL, NULL},
    {"SENT", "end.goodput_tx_bps", CELL_RATE, false, NULL, NULL},
    {"RECEIVED", "end.goodput_rx_bps", CELL_RATE, false, NULL, NULL},
    {"SEEN", "end.observed_at", CELL_AGE, false, NULL, NULL},
    {"PORT", "end.port", CELL_TEXT, true, NULL, NULL},
    {"WORKER", "end.worker", CELL_TEXT, true, NULL, NULL},
    {"REASON", "end.reason", CELL_TEXT, true, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

static void add_ends(struct strbuf *rows, const struct json_at *tunnel)
{
    struct json_at number, ends = json_root(NULL);
    (void)json_find(tunnel, "ends", &ends);
    for (size_t i = 0; json_find(tunnel, "tunnel", &number) && i < json_length(&ends); i++) {
        struct json_at end = json_element(&ends, i);
        strbuf_printf(rows, "%s{\"tunnel\":%s,", rows->len > 1 ? "," : "", json_plain(&number));
        strbuf_printf(rows, "\"end\":%s}", json_plain(&end));
    }
}

static int show_tunnels(struct cli *c, const struct json_at *answer)
{
    struct strbuf rows = STRBUF_INIT;
    struct json_object *doc = NULL;
    struct json_at items = json_root(NULL);
    (void)json_find(answer, "items", &items);
    if (c->output == CLI_JSON)
        return cli_put_json(c, &items);
    strbuf_puts(&rows, "[");
    for (size_t i = 0; i < json_length(&items); i++) {
        struct json_at tunnel = json_element(&items, i);
        add_ends(&rows, &tunnel);
    }
    strbuf_puts(&rows, "]");
    int rc = rows.failed || json_parse(strbuf_str(&rows), rows.len, SIZE_MAX, &doc, NULL)
                 ? cli_fail(c, CLI_FAILED, "the answer is no list of tunnels")
                 : CLI_OK;
    const struct json_at made = json_root(doc);
    rc = rc ? rc : table_print(c, tunnel_columns, &made);
    json_free(doc);
    strbuf_done(&rows);
    return rc;
}

static int tunnels(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    struct strbuf path = STRBUF_INIT;
    struct api_reply reply = {0};
    int rc = verbs_path(c, n, v, a, &path);
    rc = rc ? rc : api_call(c, "GET", strbuf_str(&path), NULL, &reply);
    if (!rc) {
        const struct json_at answer = json_root(reply.json);
        rc = show_tunnels(c, &answer);
    }
    api_reply_done(&reply);
    strbuf_done(&path);
    return rc;
}

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
    {.name = "tunnels",
     .summary = "Lists the tunnels of a link as both ends see them",
     .example = "link tunnels gw-branch-1/gw-hub-1",
     .arg = ARG_OBJECT,
     .shows = SHOWS_LIST,
     .method = "GET",
     .suffix = "/tunnels",
     .run = tunnels},
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
