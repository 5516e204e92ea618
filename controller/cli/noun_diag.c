#include "common/ipaddr.h"
#include "controller/cli/api.h"
#include "controller/cli/args.h"
#include "controller/cli/body.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/operation.h"
#include "controller/cli/verbs.h"
#include <stdlib.h>
#include <string.h>

static const char *const networks[] = {"underlay", "overlay", NULL};
static const char *const protocols[] = {"udp", "icmp", NULL};

/* Of all three; the macro keeps one row in one place. */
#define COMMON_FLAGS                                                                               \
    {"network", "network", FLAG_WORD, "between outer addresses, or through the tunnels",           \
     networks,  NULL},                                                                             \
        {"family", "family", FLAG_UINT, "4 or 6; null takes that of the address", NULL, NULL},     \
        {"timeout-ms", "timeout_ms", FLAG_UINT, "until an answer counts as lost", NULL, NULL},     \
    {                                                                                              \
        "no-wait", NULL, FLAG_SWITCH, "prints the operation instead of waiting for it", NULL, NULL \
    }

static const struct flag trace_flags[] = {
    COMMON_FLAGS,
    {"protocol", "protocol", FLAG_WORD, "of the probes", protocols, NULL},
    {"port", "port", FLAG_UINT, "first UDP destination port", NULL, NULL},
    {"max-hops", "max_hops", FLAG_UINT, "1 to 64", NULL, NULL},
    {"probes-per-hop", "probes_per_hop", FLAG_UINT, "1 to 10", NULL, NULL},
    {"both-ways", "both_ways", FLAG_BOOL, "also from the target back, when it is a gateway", NULL,
     NULL},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct flag ping_flags[] = {
    COMMON_FLAGS,
    {"count", "count", FLAG_UINT, "1 to 100", NULL, NULL},
    {"interval-ms", "interval_ms", FLAG_UINT, "between two of them", NULL, NULL},
    {"size-bytes", "size_bytes", FLAG_UINT, "of the whole IP packet", NULL, NULL},
    {"dont-fragment", "dont_fragment", FLAG_BOOL, "so that a packet too big is told of", NULL,
     NULL},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

static const struct flag tcp_flags[] = {
    COMMON_FLAGS,
    {"port", "port", FLAG_UINT, "1 to 65535", NULL, NULL},
    {"attempts", "attempts", FLAG_UINT, "1 to 10", NULL, NULL},
    {NULL, NULL, 0, NULL, NULL, NULL},
};

/* The target is an address, or a gateway by name or id. */
static int put_target(struct cli *c, struct json_writer *w, const char *to)
{
    char id[ID_TEXT_MAX];
    struct ipaddr a;
    if (ipaddr_parse(to, &a) == HW_OK) {
        json_put_ip(w, "target_address", &a);
        return CLI_OK;
    }
    int rc = names_resolve(c, &noun_gateway, NULL, to, id);
    if (!rc)
        json_put_str(w, "target_gateway_id", id);
    return rc;
}

static int make_body(struct cli *c, const struct verb *v, const struct args *a, char **out)
{
    char id[ID_TEXT_MAX];
    struct json_writer w;
    int rc = names_resolve(c, &noun_gateway, NULL, a->operands[0], id);
    if (rc)
        return rc;
    json_writer_init(&w);
    json_put_str(&w, "gateway_id", id);
    rc = put_target(c, &w, a->operands[1]);
    rc = rc ? rc : body_put_flags(c, &w, a, v->flags);
    if (rc) {
        json_writer_done(&w);
        return rc;
    }
    *out = json_finish(&w, NULL);
    return *out ? CLI_OK : cli_no_memory(c);
}

static int run(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    struct strbuf path = STRBUF_INIT;
    struct api_reply reply = {0};
    struct json_at id;
    char *body = NULL;
    cli_subject(c, v->name, NULL);
    int rc = make_body(c, v, a, &body);
    strbuf_printf(&path, "%s%s", n->path, v->suffix);
    rc = rc ? rc : api_call(c, "POST", strbuf_str(&path), body, &reply);
    const struct json_at operation = json_root(reply.json);
    if (!rc && args_value(a, "no-wait"))
        rc = verbs_show(c, &noun_operation, v, &operation);
    else if (!rc && json_find(&operation, "id", &id))
        rc = operation_follow(c, json_plain(&id));
    api_reply_done(&reply);
    free(body);
    strbuf_done(&path);
    return rc;
}

static const struct verb verbs[] = {
    {.name = "trace-path",
     .summary = "Shows each hop from a gateway to a target with its delay and MTU, and back",
     .example = "diag trace-path gw-branch-1 gw-hub-1",
     .arg = ARG_WORDS,
     .operands = "FROM TO",
     .shows = SHOWS_ROW,
     .method = "POST",
     .suffix = "/trace-path",
     .flags = trace_flags,
     .run = run},
    {.name = "ping",
     .summary = "Sends echo requests from a gateway to a target",
     .example = "diag ping gw-branch-1 10.2.1.10 --network overlay --count 3",
     .arg = ARG_WORDS,
     .operands = "FROM TO",
     .shows = SHOWS_ROW,
     .method = "POST",
     .suffix = "/ping",
     .flags = ping_flags,
     .run = run},
    {.name = "tcp-connect",
     .summary = "Tries a TCP connection from a gateway to a target",
     .example = "diag tcp-connect gw-branch-1 10.2.1.10 --network overlay --port 443",
     .arg = ARG_WORDS,
     .operands = "FROM TO",
     .shows = SHOWS_ROW,
     .method = "POST",
     .suffix = "/tcp-connect",
     .flags = tcp_flags,
     .required = "port",
     .run = run},
    {.name = NULL},
};

const struct noun noun_diag = {
    .name = "diag",
    .title = "Diagnostics: questions that a gateway answers. FROM is a gateway, TO a gateway or an "
             "address",
    .path = "/api/v1/diagnostics",
    .verbs = verbs,
};
