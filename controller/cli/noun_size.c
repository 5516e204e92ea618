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
    FLAG_WORDS("provider", "provider", providers, "only sizes of this provider"),
    FLAG("size", "size", TEXT, "only the one of this name"),
    FLAGS_END,
};

static const struct flag flags[] = {
    FLAG_WORDS("provider", "provider", providers, "whose size it is"),
    FLAG("size", "size", TEXT, "the provider's name of it"),
    FLAG("vcpus", "vcpus", UINT, "processors, as the machine sees them"),
    FLAG("memory-bytes", "memory_bytes", UINT, "memory"),
    FLAG("nic-bps", "nic_bps", UINT, "of its network interface, as its maker documents it"),
    FLAG("note", "note", TEXT, "for people"),
    FLAGS_END,
};

static const struct flag recommend_flags[] = {
    FLAG("gbps", "gbps", NUMBER, "goodput wanted, in 10^9 bit/s"),
    FLAG("mtu", "mtu", UINT, "of the underlay; 1500 when absent"),
    FLAG_WORDS("provider", "provider", providers, "only sizes of this provider"),
    FLAGS_END,
};

static const struct flag figure_flags[] = {
    FLAG("throughput-bps", "throughput_bps", NUMBER, "goodput, the median of the runs"),
    FLAG("mtu", "mtu", UINT, "of the underlay"),
    FLAG("method", "method", TEXT, "how, so that another can repeat it"),
    FLAG("tcp-streams", "tcp_streams", UINT, "side by side"),
    FLAG_WORDS("encryption", "encryption", encryptions, "suite, or none for plain routing"),
    FLAG("gro", "gro", BOOL, "whether receive offload was on"),
    FLAG_WORDS("role", "role", roles, "of the machine in the test"),
    FLAG("spread-bps", "spread_bps", NUMBER, "largest less smallest run"),
    FLAG("runs", "runs", UINT, "how many"),
    FLAG("note", "note", TEXT, "for people"),
    FLAG("measured-at", "measured_at", TIME, "now when absent"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("PROVIDER", "provider", TEXT),
    COLUMN("SIZE", "size", TEXT),
    COLUMN("VCPUS", "vcpus", TEXT),
    COLUMN("MEMORY", "memory_bytes", BYTES),
    COLUMN("NETWORK", "nic_bps", RATE),
    COLUMN("TUNNELS", "tunnels", TEXT),
    COLUMN("FIGURES", "figures", COUNT),
    COLUMN("KNOWN FROM", "source", TEXT),
    WIDE("NOTE", "note", TEXT),
    WIDE("ID", "id", TEXT),
    COLUMNS_END,
};

static const struct column answer_columns[] = {
    COLUMN("PROVIDER", "provider", TEXT),
    COLUMN("SIZE", "size", TEXT),
    COLUMN("GATEWAYS", "gateways", TEXT),
    COLUMN("EXPECTED", "expected_bps", RATE),
    COLUMN("ORIGIN", "figure.origin", TEXT),
    COLUMN("MTU", "figure.mtu", TEXT),
    COLUMN("SOURCE", "figure.source", TEXT),
    WIDE("REASON", "reason", TEXT),
    COLUMNS_END,
};

static const struct column figure_columns[] = {
    COLUMN("MTU", "mtu", TEXT),
    COLUMN("THROUGHPUT", "throughput_bps", RATE),
    COLUMN("STREAMS", "tcp_streams", TEXT),
    COLUMN("ENCRYPTION", "encryption", TEXT),
    COLUMN("METHOD", "method", TEXT),
    COLUMN("ID", "id", TEXT),
    COLUMNS_END,
};

static int recommend(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    struct api_reply reply = {0};
    struct json_at items;
    int rc = verbs_get(c, n, v, a, &reply);
    const struct json_at answer = json_root(reply.json);
    if (!rc && c->output == CLI_JSON) {
        rc = cli_put_json(c, &answer);
    } else if (!rc && json_find(&answer, "items", &items)) {
        rc = json_length(&items) ? table_print(c, answer_columns, &items) : CLI_OK;
        strbuf_puts(&c->out, json_length(&items) ? "\n" : "");
        visible_text(&c->out, json_plain_at(&answer, "explanation"));
        strbuf_puts(&c->out, "\n");
    }
    api_reply_done(&reply);
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
    VERB_LIST("Lists the instance sizes", "size list --provider aws", filters),
    VERB_SHOW("Shows a size with all its figures", "size show aws/c5n.9xlarge"),
    VERB_CREATE("Adds a size of one's own",
                "size create --provider onprem --size r650-2x25 --vcpus 32", flags,
                "provider size"),
    VERB_DELETE("Deletes a size of one's own; those of the catalogue stay",
                "size delete onprem/r650-2x25", false),
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
    VERBS_END,
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
