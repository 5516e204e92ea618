#include "controller/cli/api.h"
#include "controller/cli/args.h"
#include "controller/cli/body.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/table.h"
#include "controller/cli/verbs.h"
#include "controller/cli/visible.h"
#include <string.h>

static const char *const providers[] = {"aws",     "azure",  "gcp",   "oci",
                                        "vsphere", "onprem", "nsx-t", NULL};
static const char *const encryptions[] = {"aes-256-gcm", "aes-128-gcm", "none", NULL};
static const char *const roles[] = {"spoke", "transit", "peer", NULL};

static const struct flag filters[] = {
    {"provider", "provider", FLAG_WORD, "only sizes of this provider", providers, NULL},
    {"size", "size", FLAG_TEXT, "only the one of this name", NULL, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct flag flags[] = {
    {"provider", "provider", FLAG_WORD, "whose size it is", providers, NULL},
    {"size", "size", FLAG_TEXT, "the provider's name of it", NULL, NULL},
    {"vcpus", "vcpus", FLAG_UINT, "processors, as the machine sees them", NULL, NULL},
    {"memory-bytes", "memory_bytes", FLAG_UINT, "memory", NULL, NULL},
    {"nic-bps", "nic_bps", FLAG_UINT, "of its network interface, as its maker documents it", NULL,
     NULL},
    {"note", "note", FLAG_TEXT, "for people", NULL, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct flag recommend_flags[] = {
    {"gbps", "gbps", FLAG_NUMBER, "goodput wanted, in 10^9 bit/s", NULL, NULL},
    {"mtu", "mtu", FLAG_UINT, "of the underlay; 1500 when absent", NULL, NULL},
    {"provider", "provider", FLAG_WORD, "only sizes of this provider", providers, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct flag figure_flags[] = {
    {"throughput-bps", "throughput_bps", FLAG_NUMBER, "goodput, the median of the runs", NULL,
     NULL},
    {"mtu", "mtu", FLAG_UINT, "of the underlay", NULL, NULL},
    {"method", "method", FLAG_TEXT, "how, so that another can repeat it", NULL, NULL},
    {"tcp-streams", "tcp_streams", FLAG_UINT, "side by side", NULL, NULL},
    {"encryption", "encryption", FLAG_WORD, "suite, or none for plain routing", encryptions, NULL},
    {"gro", "gro", FLAG_BOOL, "whether receive offload was on", NULL, NULL},
    {"role", "role", FLAG_WORD, "of the machine in the test", roles, NULL},
    {"spread-bps", "spread_bps", FLAG_NUMBER, "largest less smallest run", NULL, NULL},
    {"runs", "runs", FLAG_UINT, "how many", NULL, NULL},
    {"note", "note", FLAG_TEXT, "for people", NULL, NULL},
    {"measured-at", "measured_at", FLAG_TIME, "now when absent", NULL, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct column columns[] = {
    {"PROVIDER", "provider", CELL_TEXT, false, NULL, NULL},
    {"SIZE", "size", CELL_TEXT, false, NULL, NULL},
    {"VCPUS", "vcpus", CELL_TEXT, false, NULL, NULL},
    {"MEMORY", "memory_bytes", CELL_BYTES, false, NULL, NULL},
    {"NETWORK", "nic_bps", CELL_RATE, false, NULL, NULL},
    {"TUNNELS", "tunnels", CELL_TEXT, false, NULL, NULL},
    {"FIGURES", "figures", CELL_COUNT, false, NULL, NULL},
    {"KNOWN FROM", "source", CELL_TEXT, false, NULL, NULL},
    {"NOTE", "note", CELL_TEXT, true, NULL, NULL},
    {"ID", "id", CELL_TEXT, true, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

static const struct column answer_columns[] = {
    {"PROVIDER", "provider", CELL_TEXT, false, NULL, NULL},
    {"SIZE", "size", CELL_TEXT, false, NULL, NULL},
    {"GATEWAYS", "gateways", CELL_TEXT, false, NULL, NULL},
    {"EXPECTED", "expected_bps", CELL_RATE, false, NULL, NULL},
    {"ORIGIN", "figure.origin", CELL_TEXT, false, NULL, NULL},
    {"MTU", "figure.mtu", CELL_TEXT, false, NULL, NULL},
    {"SOURCE", "figure.source", CELL_TEXT, false, NULL, NULL},
    {"REASON", "reason", CELL_TEXT, true, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

static const struct column figure_columns[] = {
    {"MTU", "mtu", CELL_TEXT, false, NULL, NULL},
    {"THROUGHPUT", "throughput_bps", CELL_RATE, false, NULL, NULL},
    {"STREAMS", "tcp_streams", CELL_TEXT, false, NULL, NULL},
    {"ENCRYPTION", "encryption", CELL_TEXT, false, NULL, NULL},
    {"METHOD", "method", CELL_TEXT, false, NULL, NULL},
    {"ID", "id", CELL_TEXT, false, NULL, NULL},
    {NULL, NULL, 0, false, NULL, NULL},
};

static int recommend(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    struct strbuf path = STRBUF_INIT;
    struct api_reply reply = {0};
    struct json_at items, why;
    int rc = verbs_path(c, n, v, a, &path);
    rc = rc ? rc : body_query(c, a, &path);
    rc = rc ? rc : api_call(c, "GET", strbuf_str(&path), NULL, &reply);
    const struct json_at answer = json_root(reply.json);
    if (!rc && c->output == CLI_JSON) {
        rc = cli_put_json(c, &answer);
    } else if (!rc && json_find(&answer, "items", &items)) {
        rc = json_length(&items) ? table_print(c, answer_columns, &items) : CLI_OK;
        strbuf_puts(&c->out, json_length(&items) ? "\n" : "");
        visible_text(&c->out, json_find(&answer, "explanation", &why) ? json_plain(&why) : "");
        strbuf_puts(&c->out, "\n");
    }
    api_reply_done(&reply);
    strbuf_done(&path);
    return rc;
}

static int delete_figure(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    char size[ID_TEXT_MAX], figure[ID_TEXT_MAX];
    struct strbuf path = STRBUF_INIT;
    struct api_reply reply = {0};
    struct hw_id id;
    (void)v;
    cli_subject(c, n->name, a->operands[0]);
    if (id_parse(a->operands[1], &id) != HW_OK) {
        cli_hint(c, "hawserctl size show %s", a->operands[0]);
        return cli_fail(c, CLI_USAGE, "%s is no id of a figure", a->operands[1]);
    }
    int rc = names_resolve(c, n, NULL, a->operands[0], size);
    strbuf_printf(&path, "%s/%s/figures/%s", n->path, size, id_text(&id, figure));
    rc = rc ? rc : api_call(c, "DELETE", strbuf_str(&path), NULL, &reply);
    if (!rc && c->output != CLI_JSON)
        strbuf_printf(&c->out, "figure %s: deleted\n", figure);
    api_reply_done(&reply);
    strbuf_done(&path);
    return rc;
}

static const struct verb verbs[] = {
    {.name = "list",
     .summary = "Lists the instance sizes",
     .example = "size list --provider aws",
     .shows = SHOWS_LIST,
     .method = "GET",
     .flags = filters},
    {.name = "show",
     .summary = "Shows a size with all its figures",
     .example = "size show aws/c5n.9xlarge",
     .arg = ARG_OBJECT,
     .shows = SHOWS_DETAIL,
     .method = "GET"},
    {.name = "create",
     .summary = "Adds a size of one's own",
     .example = "size create --provider onprem --size r650-2x25 --vcpus 32",
     .shows = SHOWS_ROW,
     .method = "POST",
     .flags = flags,
     .required = "provider size"},
    {.name = "delete",
     .summary = "Deletes a size of one's own; those of the catalogue stay",
     .example = "size delete onprem/r650-2x25",
     .arg = ARG_OBJECT,
     .shows = SHOWS_NOTHING,
     .method = "DELETE"},
    {.name = "recommend",
     .summary = "Answers which size will do, and why",
     .example = "size recommend --gbps 30 --mtu 9000 --provider aws",
     .shows = SHOWS_LIST,
     .method = "GET",
     .suffix = "/recommend",
     .flags = recommend_flags,
     .required = "gbps",
     .run = recommend},
    {.name = "add-figure",
     .summary = "Posts a throughput that was measured here",
     .example = "size add-figure onprem/r650-2x25 --throughput-bps 9.4e9 --mtu 8900 --method "
                "iperf3-32-streams",
     .arg = ARG_OBJECT,
     .shows = SHOWS_ROW,
     .method = "POST",
     .suffix = "/figures",
     .flags = figure_flags,
     .columns = figure_columns,
     .required = "throughput-bps mtu method"},
    {.name = "delete-figure",
     .summary = "Deletes a figure that was measured here; published ones stay",
     .example = "size delete-figure onprem/r650-2x25 7d1f6f0e-52cb-4f57-8d8d-1d2f3d9f7f01",
     .arg = ARG_WORDS,
     .operands = "NAME|ID FIGURE-ID",
     .run = delete_figure},
    {.name = NULL},
};

/* "aws/c5n.9xlarge" */
static int label(struct cli *c, const struct json_at *item, struct strbuf *out)
{
    struct json_at provider, size;
    (void)c;
    if (json_find(item, "provider", &provider) && json_find(item, "size", &size)) {
        strbuf_printf(out, "%s/", json_plain(&provider));
        strbuf_puts(out, json_plain(&size));
    }
    return CLI_OK;
}

const struct noun noun_size = {
    .name = "size",
    .title = "Instance sizes: what machines can do, published and measured",
    .path = "/api/v1/instance-sizes",
    .columns = columns,
    .verbs = verbs,
    .label = label,
    .short_names = true,
};
