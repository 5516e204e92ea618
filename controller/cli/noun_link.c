#include "controller/cli/api.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/table.h"
#include "controller/cli/verbs.h"

static const struct flag flags[] = {
    FLAG("tunnels-override", "tunnels_override", UINT, "1 to 50; null as the connection says"),
    FLAG("enabled", "enabled", BOOL, "false takes it out of use"),
    FLAGS_END,
};

static const struct flag filters[] = {
    FLAG_OBJECT("connection", "connection_id", &noun_connection, "only those of this connection"),
    FLAG_OBJECT("gateway", "gateway_id", &noun_gateway, "only those with an end at this gateway"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN_REF("GATEWAY A", "gateway_a_id", &noun_gateway),
    COLUMN_REF("GATEWAY B", "gateway_b_id", &noun_gateway),
    COLUMN("STATE", "status.state", STATE),
    COLUMN_OF("TUNNELS UP", "status.tunnels_up", "status.tunnels_total"),
    COLUMN("SEEN", "status.observed_at", AGE),
    COLUMN("REASON", "status.reason", TEXT),
    WIDE("KIND", "kind", TEXT),
    WIDE_REF("CONNECTION", "connection_id", &noun_connection),
    WIDE("ADDRESS A", "address_a", TEXT),
    WIDE("ADDRESS B", "address_b", TEXT),
    WIDE("TUNNELS", "tunnels", TEXT),
    WIDE("OVERRIDE", "tunnels_override", TEXT),
    WIDE("ENABLED", "enabled", BOOL),
    WIDE("ID", "id", TEXT),
    COLUMNS_END,
};

/* A row for each end of each tunnel. */
static const struct column tunnel_columns[] = {
    COLUMN("TUNNEL", "tunnel", TEXT),
    COLUMN_REF("SEEN BY", "end.gateway_id", &noun_gateway),
    COLUMN("STATE", "end.state", STATE),
    COLUMN("RTT", "end.rtt_ms.avg", MS),
    COLUMN("LOSS", "end.loss_ratio", RATIO),
    COLUMN("MTU", "end.mtu", TEXT),
    COLUMN("SENT", "end.goodput_tx_bps", RATE),
    COLUMN("RECEIVED", "end.goodput_rx_bps", RATE),
    COLUMN("SEEN", "end.observed_at", AGE),
    WIDE("PORT", "end.port", TEXT),
    WIDE("WORKER", "end.worker", TEXT),
    WIDE("REASON", "end.reason", TEXT),
    COLUMNS_END,
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
    int rc = table_print_text(c, tunnel_columns, &rows);
    strbuf_done(&rows);
    return rc;
}

static int tunnels(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    struct api_reply reply = {0};
    int rc = verbs_get(c, n, v, a, &reply);
    if (!rc) {
        const struct json_at answer = json_root(reply.json);
        rc = show_tunnels(c, &answer);
    }
    api_reply_done(&reply);
    return rc;
}

static const struct verb verbs[] = {
    VERB_LIST("Lists the links", "link list --gateway gw-branch-1", filters),
    VERB_SHOW("Shows a link whole", "link show gw-branch-1/gw-hub-1"),
    VERB_SET("Changes a link", "link set gw-branch-1/gw-hub-1 --tunnels-override 16", flags),
    {.name = "tunnels",
     .summary = "Lists the tunnels of a link as both ends see them",
     .example = "link tunnels gw-branch-1/gw-hub-1",
     .arg = ARG_OBJECT,
     .shows = SHOWS_LIST,
     .method = "GET",
     .suffix = "/tunnels",
     .run = tunnels},
    VERBS_END,
};

/* A link is called by its two gateways, "gw-a/gw-b", as the planner ordered them. */
static int label(struct cli *c, const struct json_at *item, struct strbuf *out)
{
    return names_pair(c, &noun_gateway, item, "gateway_a_id", "gateway_b_id", out);
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
