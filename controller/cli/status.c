#include "controller/cli/status.h"
#include "controller/cli/api.h"
#include "controller/cli/args.h"
#include "controller/cli/cell.h"
#include "controller/cli/commands.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/table.h"
#include "controller/cli/visible.h"
#include "controller/cli/warnings.h"
#include <string.h>

static const struct column connection_columns[] = {
    COLUMN("CONNECTION", "name", TEXT),
    COLUMN("STATE", "state", STATE),
    COLUMN_OF("TUNNELS UP", "tunnels_up", "tunnels_total"),
    COLUMN("A TO B", "goodput_ab_bps", RATE),
    COLUMN("B TO A", "goodput_ba_bps", RATE),
    COLUMN("RTT", "rtt_ms", MS),
    COLUMN("LOSS", "loss_ratio", RATIO),
    COLUMN("MTU", "mtu", TEXT),
    COLUMN("ENCRYPTED", "encrypted", BOOL),
    WIDE_REF("SITE A", "site_a_id", &noun_site),
    WIDE_REF("SITE B", "site_b_id", &noun_site),
    COLUMNS_END,
};

static const struct column gateway_columns[] = {
    COLUMN("GATEWAY", "name", TEXT),
    COLUMN_REF("SITE", "site_id", &noun_site),
    COLUMN("STATE", "status.state", STATE),
    COLUMN("SEEN", "status.observed_at", AGE),
    COLUMN("SENT", "goodput_tx_bps", RATE),
    COLUMN("RECEIVED", "goodput_rx_bps", RATE),
    COLUMN("BUSIEST CORE", "busy_ratio", RATIO),
    COLUMN("REASON", "status.reason", TEXT),
    COLUMNS_END,
};

static const struct column link_columns[] = {
    COLUMN_REF("LINK", "gateway_a_id", &noun_gateway),
    COLUMN_REF("WITH", "gateway_b_id", &noun_gateway),
    COLUMN("STATE", "status.state", STATE),
    COLUMN_OF("TUNNELS UP", "status.tunnels_up", "status.tunnels_total"),
    COLUMN("SEEN", "status.observed_at", AGE),
    COLUMN("REASON", "status.reason", TEXT),
    WIDE("KIND", "kind", TEXT),
    WIDE("RTT", "rtt_ms", MS),
    WIDE("MTU", "mtu", TEXT),
    COLUMNS_END,
};

/* Adds "name": and what the controller answers to a document. */
static int add_answer(struct cli *c, struct strbuf *doc, const char *name, const char *path)
{
    struct api_reply reply = {0};
    int rc = api_call(c, "GET", path, NULL, &reply);
    const struct json_at top = json_root(reply.json);
    if (!rc)
        strbuf_printf(doc, "%s\"%s\":%s", doc->len > 1 ? "," : "", name, json_plain(&top));
    api_reply_done(&reply);
    return rc;
}

/* Adds "name": and the items of all pages of a list. */
static int add_items(struct cli *c, struct strbuf *doc, const char *name, const char *path)
{
    struct json_object *list = NULL;
    int rc = api_list(c, path, &list);
    const struct json_at top = json_root(list);
    if (!rc)
        strbuf_printf(doc, ",\"%s\":%s", name, json_plain_at(&top, "items"));
    json_free(list);
    return rc;
}

/* Everything that the page shows, as one document. */
static int fetch(struct cli *c, struct json_object **out)
{
    struct strbuf doc = STRBUF_INIT;
    struct err e = {0};
    strbuf_puts(&doc, "{");
    int rc = add_answer(c, &doc, "controller", "/version");
    rc = rc ? rc : add_answer(c, &doc, "revisions", "/api/v1/revisions");
    rc = rc ? rc : add_answer(c, &doc, "topology", "/api/v1/topology");
    rc = rc ? rc : add_items(c, &doc, "connections", noun_connection.path);
    rc = rc ? rc : add_items(c, &doc, "rulesets", noun_ruleset.path);
    strbuf_puts(&doc, "}");
    if (!rc && json_parse(strbuf_str(&doc), doc.len, SIZE_MAX, out, &e))
        rc = cli_fail(c, CLI_FAILED, "%s", e.text);
    strbuf_done(&doc);
    return rc;
}

struct tally {
    unsigned up, total, tunnels_up, tunnels_total;
};

static bool is_text(const struct json_at *item, const char *path, const char *text)
{
    return strcmp(json_plain_at(item, path), text) == 0;
}

static unsigned number_of(const struct json_at *item, const char *path)
{
    struct json_at v;
    return json_find(item, path, &v) ? (unsigned)json_number(&v, 0) : 0;
}

/* Counts what should be up: not what an operator revoked or switched off. */
static struct tally count(const struct json_at *items)
{
    struct tally t = {0};
    for (size_t i = 0; i < json_length(items); i++) {
        struct json_at item = json_element(items, i);
        if (is_text(&item, "state", "revoked") || is_text(&item, "status.state", "disabled"))
            continue;
        t.total++;
        t.up += is_text(&item, "status.state", "up");
        t.tunnels_up += number_of(&item, "status.tunnels_up");
        t.tunnels_total += number_of(&item, "status.tunnels_total");
    }
    return t;
}

static void put_summary(struct cli *c, const struct json_at *doc, const struct tally *gateways,
                        const struct tally *links)
{
    struct json_at v;
    strbuf_printf(&c->out, "controller  %s", c->url);
    if (json_find(doc, "controller.version", &v)) {
        strbuf_puts(&c->out, ", version ");
        visible_text(&c->out, json_plain(&v));
    }
    if (json_find(doc, "revisions.revision", &v)) {
        strbuf_puts(&c->out, ", revision ");
        visible_text(&c->out, json_plain(&v));
    }
    strbuf_printf(&c->out, "\nnetwork     gateways %u of %u up, links %u of %u, tunnels %u of %u\n",
                  gateways->up, gateways->total, links->up, links->total, links->tunnels_up,
                  links->tunnels_total);
    if (is_text(doc, "revisions.held", "true")) {
        strbuf_printf(&c->out, "%sheld back%s   ", cell_begin(c, COLOUR_BAD),
                      cell_end(c, COLOUR_BAD));
        visible_text(&c->out, json_find(doc, "revisions.reason", &v) ? json_plain(&v) : "");
        strbuf_puts(&c->out, " (hawserctl revision accept)\n");
    }
}

static int put_table(struct cli *c, const struct column *columns, const struct json_at *items)
{
    if (json_length(items) == 0)
        return CLI_OK;
    strbuf_puts(&c->out, "\n");
    return table_print(c, columns, items);
}

static int put_page(struct cli *c, const struct json_at *doc, const struct json_at *gateways,
                    const struct json_at *links)
{
    struct json_at sites = json_root(NULL), connections = json_root(NULL);
    (void)json_find(doc, "topology.sites", &sites);
    (void)json_find(doc, "topology.connections", &connections);
    int rc = names_learn(c, &noun_site, &sites);
    rc = rc ? rc : names_learn(c, &noun_gateway, gateways);
    if (!rc)
        warnings_put(c, doc);
    rc = rc ? rc : put_table(c, connection_columns, &connections);
    rc = rc ? rc : put_table(c, gateway_columns, gateways);
    rc = rc ? rc : put_table(c, link_columns, links);
    if (json_length(gateways) == 0)
        strbuf_puts(&c->out, "\nNo gateway yet: hawserctl token create --site NAME prints what a "
                             "machine needs.\n");
    return rc;
}

int status_page(struct cli *c, unsigned *not_up)
{
    struct json_object *parsed = NULL;
    struct json_at gateways = json_root(NULL), links = json_root(NULL);
    cli_subject(c, "status", NULL);
    int rc = fetch(c, &parsed);
    if (rc)
        return rc;
    const struct json_at doc = json_root(parsed);
    (void)json_find(&doc, "topology.gateways", &gateways);
    (void)json_find(&doc, "topology.links", &links);
    struct tally g = count(&gateways), l = count(&links);
    *not_up = g.total - g.up + l.total - l.up + is_text(&doc, "revisions.held", "true") +
              warnings_failed(&doc);
    if (c->output == CLI_JSON) {
        rc = cli_put_json(c, &doc);
    } else {
        put_summary(c, &doc, &g, &l);
        rc = put_page(c, &doc, &gateways, &links);
    }
    json_free(parsed);
    return rc;
}

static int run(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    unsigned not_up = 0;
    (void)n;
    (void)v;
    if (args_value(a, "json"))
        c->output = CLI_JSON;
    int rc = status_page(c, &not_up);
    if (rc || !args_value(a, "check") || not_up == 0)
        return rc;
    return cli_fail(c, CLI_FAILED, "not everything is up: %u of gateways, links and firewalls",
                    not_up);
}

static const struct flag flags[] = {
    FLAG("json", NULL, SWITCH, "the same as -o json"),
    FLAG("check", NULL, SWITCH, "exit code 1 unless everything is up"),
    FLAGS_END,
};

static const struct verb verbs[] = {
    {.name = "",
     .summary = "Shows controller, connections, gateways and links on one page",
     .example = "status --check",
     .flags = flags,
     .run = run},
    VERBS_END,
};

const struct noun noun_status = {
    .name = "status",
    .title = "The whole network on one page",
    .verbs = verbs,
};
