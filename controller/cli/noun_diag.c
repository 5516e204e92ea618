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
    FLAG_WORDS("network", "network", networks, "between outer addresses, or through the tunnels"), \
        FLAG("family", "family", UINT, "4 or 6; null takes that of the address"),                  \
        FLAG("timeout-ms", "timeout_ms", UINT, "until an answer counts as lost"),                  \
        FLAG("no-wait", NULL, SWITCH, "prints the operation instead of waiting for it")

static const struct flag trace_flags[] = {
    COMMON_FLAGS,
    FLAG_WORDS("protocol", "protocol", protocols, "of the probes"),
    FLAG("port", "port", UINT, "first UDP destination port"),
    FLAG("max-hops", "max_hops", UINT, "1 to 64"),
    FLAG("probes-per-hop", "probes_per_hop", UINT, "1 to 10"),
    FLAG("both-ways", "both_ways", BOOL, "also from the target back, when it is a gateway"),
    FLAGS_END,
};

static const struct flag ping_flags[] = {
    COMMON_FLAGS,
    FLAG("count", "count", UINT, "1 to 100"),
    FLAG("interval-ms", "interval_ms", UINT, "between two of them"),
    FLAG("size-bytes", "size_bytes", UINT, "of the whole IP packet"),
    FLAG("dont-fragment", "dont_fragment", BOOL, "so that a packet too big is told of"),
    FLAGS_END,
};

static const struct flag tcp_flags[] = {
    COMMON_FLAGS,
    FLAG("port", "port", UINT, "1 to 65535"),
    FLAG("attempts", "attempts", UINT, "1 to 10"),
    FLAGS_END,
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

#define VERB_QUESTION(verb, tells, shown, members, needed)                                         \
    {                                                                                              \
        .name = verb, .summary = (tells), .example = (shown), .arg = ARG_WORDS,                    \
        .operands = "FROM TO", .shows = SHOWS_ROW, .method = "POST", .suffix = "/" verb,           \
        .flags = (members), .required = (needed), .run = run                                       \
    }

static const struct verb verbs[] = {
    VERB_QUESTION("trace-path",
                  "Shows each hop from a gateway to a target with its delay and MTU, and back",
                  "diag trace-path gw-branch-1 gw-hub-1", trace_flags, NULL),
    VERB_QUESTION("ping", "Sends echo requests from a gateway to a target",
                  "diag ping gw-branch-1 10.2.1.10 --network overlay --count 3", ping_flags, NULL),
    VERB_QUESTION("tcp-connect", "Tries a TCP connection from a gateway to a target",
                  "diag tcp-connect gw-branch-1 10.2.1.10 --network overlay --port 443", tcp_flags,
                  "port"),
    VERBS_END,
};

const struct noun noun_diag = {
    .name = "diag",
    .title = "Diagnostics: questions that a gateway answers. FROM is a gateway, TO a gateway or an "
             "address",
    .path = "/api/v1/diagnostics",
    .verbs = verbs,
};
