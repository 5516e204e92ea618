#include "common/model/command.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX (1ll << 40)

static const char *const kinds[] = {"trace-path", "ping", "tcp-connect", "cancel", NULL};
static const char *const networks[] = {"underlay", "overlay", NULL};
static const char *const protocols[] = {"udp", "icmp", NULL};
static const char *const states[] = {"running",   "succeeded", "failed",
                                     "cancelled", "expired",   NULL};
static const char *const codes[] = {"not-delivered", "no-answer", "refused",       "busy",
                                    "unsupported",   "no-route",  "not-permitted", "cancelled",
                                    "internal",      NULL};

const char *command_kind_name(enum command_kind k)
{
    return k < COMMAND_UNKNOWN ? kinds[k] : NULL;
}

const char *command_network_name(enum command_network n)
{
    return networks[n];
}

const char *command_protocol_name(enum command_protocol p)
{
    return protocols[p];
}

const char *command_state_name(enum command_state s)
{
    return states[s];
}

/* ---- parameters ---- */

struct command command_defaults(enum command_kind kind)
{
    return (struct command){
        .kind = kind,
        .timeout_ms = kind == COMMAND_TCP_CONNECT ? 3000 : 1000,
        .max_hops = 30,
        .probes_per_hop = 3,
        .port = 33434,
        .count = 5,
        .interval_ms = 1000,
        .size_bytes = 84,
        .dont_fragment = true,
        .attempts = 1,
    };
}

/* An option with its range: the API's, the agent's and the store's alike. */
struct option {
    const char *key;
    size_t at; /* of an unsigned in struct command */
    unsigned min, max;
};

#define OPTION(name, min, max)                                                                     \
    {                                                                                              \
#name, offsetof(struct command, name), min, max                                            \
    }
static const struct option trace_options[] = {
    OPTION(max_hops, 1, 64), OPTION(probes_per_hop, 1, 10), OPTION(timeout_ms, 100, 5000), {0}};
static const struct option ping_options[] = {OPTION(count, 1, 100),
                                             OPTION(interval_ms, 100, 10000),
                                             OPTION(timeout_ms, 100, 5000),
                                             OPTION(size_bytes, 28, 65535),
                                             {0}};
static const struct option tcp_options[] = {
    OPTION(attempts, 1, 10), OPTION(timeout_ms, 100, 30000), {0}};
static const struct option no_options[] = {{0}};

static const struct option *options_of(enum command_kind k)
{
    static const struct option *const by_kind[] = {trace_options, ping_options, tcp_options,
                                                   no_options, no_options};
    return by_kind[k];
}

static unsigned *option_at(struct command *c, const struct option *o)
{
    return (unsigned *)(void *)((char *)c + o->at);
}

int command_read_options(const struct json_at *at, struct command *c, struct err *e)
{
    int rc = 0;
    unsigned choice;
    for (const struct option *o = options_of(c->kind); !rc && o->key; o++) {
        uint32_t v = 0;
        if (json_presence(at, o->key) == JSON_ABSENT)
            continue;
        rc = json_get_u32(at, o->key, o->min, o->max, &v, e);
        *option_at(c, o) = v;
    }
    if (!rc && json_presence(at, "network") != JSON_ABSENT &&
        !(rc = json_get_enum(at, "network", networks, &choice, e)))
        c->network = (enum command_network)choice;
    bool trace = c->kind == COMMAND_TRACE_PATH;
    if (!rc && trace && json_presence(at, "protocol") != JSON_ABSENT &&
        !(rc = json_get_enum(at, "protocol", protocols, &choice, e)))
        c->protocol = (enum command_protocol)choice;
    if (!rc && (trace || c->kind == COMMAND_TCP_CONNECT) &&
        json_presence(at, "port") != JSON_ABSENT)
        rc = json_get_u16(at, "port", trace ? 1024 : 1, trace ? 65000 : 65535, &c->port, e);
    if (!rc && c->kind == COMMAND_PING && json_presence(at, "dont_fragment") != JSON_ABSENT)
        rc = json_get_bool(at, "dont_fragment", &c->dont_fragment, e);
    return rc;
}

void command_put_options(struct json_writer *w, const struct command *c)
{
    struct command copy = *c;
    json_put_str(w, "network", networks[c->network]);
    if (c->kind == COMMAND_TRACE_PATH)
        json_put_str(w, "protocol", protocols[c->protocol]);
    if (c->kind == COMMAND_TRACE_PATH || c->kind == COMMAND_TCP_CONNECT)
        json_put_uint(w, "port", c->port);
    for (const struct option *o = options_of(c->kind); o->key; o++)
        json_put_uint(w, o->key, *option_at(&copy, o));
    if (c->kind == COMMAND_PING)
        json_put_bool(w, "dont_fragment", c->dont_fragment);
}

static void put_params(struct json_writer *w, const struct command *c)
{
    if (c->kind == COMMAND_CANCEL) {
        json_put_id(w, "command_id", &c->cancels);
        return;
    }
    json_put_ip(w, "target", &c->target);
    json_put_ip(w, "source", &c->source);
    command_put_options(w, c);
}

/* All members of the kind, and no other. */
static int check_members(const struct json_at *at, const struct command *c, struct err *e)
{
    static const char *const trace[] = {"target",         "source",     "network",
                                        "protocol",       "port",       "max_hops",
                                        "probes_per_hop", "timeout_ms", NULL};
    static const char *const ping[] = {"target",     "source",        "network",
                                       "count",      "interval_ms",   "timeout_ms",
                                       "size_bytes", "dont_fragment", NULL};
    static const char *const tcp[] = {"target",   "source",     "network", "port",
                                      "attempts", "timeout_ms", NULL};
    static const char *const cancel[] = {"command_id", NULL};
    static const char *const *const by_kind[] = {trace, ping, tcp, cancel};
    int rc = json_members(at, by_kind[c->kind], e);
    struct json_at m;
    for (const char *const *key = by_kind[c->kind]; !rc && *key; key++)
        rc = json_member(at, *key, &m, e);
    return rc;
}

static int get_params(const struct json_at *at, struct command *c, struct err *e)
{
    int rc = check_members(at, c, e);
    if (!rc && c->kind == COMMAND_CANCEL)
        return json_get_id(at, "command_id", &c->cancels, e);
    rc = rc ? rc : json_get_ip(at, "target", &c->target, e);
    if (!rc && json_has(at, "source"))
        rc = json_get_ip(at, "source", &c->source, e);
    if (!rc && c->source.family && c->source.family != c->target.family)
        rc = err_set_field(e, HW_EINVAL, "source", "not of the target's family");
    return rc ? rc : command_read_options(at, c, e);
}

char *command_params_encode(const struct command *c)
{
    struct json_writer w;
    json_writer_init(&w);
    put_params(&w, c);
    return json_finish(&w, NULL);
}

int command_params_decode(const char *json, size_t len, struct command *c, struct err *e)
{
    struct json_object *doc;
    int rc = json_parse(json, len, HW_REQUEST_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = get_params(&top, c, e);
    json_free(doc);
    return rc;
}

/* ---- poll ---- */

static void put_command(struct json_writer *w, const struct command *c)
{
    json_open_object(w, NULL);
    json_put_id(w, "id", &c->id);
    json_put_str(w, "kind", command_kind_name(c->kind));
    json_put_int(w, "issued_at", c->issued_at);
    json_put_int(w, "expires_at", c->expires_at);
    json_open_object(w, "params");
    put_params(w, c);
    json_close(w);
    json_close(w);
}

char *command_poll_encode(const struct command_poll *p, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_uint(&w, "config_revision", p->config_revision);
    json_put_uint(&w, "denials_revision", p->denials_revision);
    json_open_array(&w, "commands");
    for (size_t i = 0; i < p->n_commands; i++)
        put_command(&w, &p->commands[i]);
    json_close(&w);
    return json_finish(&w, len);
}

static int get_command(const struct json_at *at, struct command *c, struct err *e)
{
    static const char *const members[] = {"id", "kind", "issued_at", "expires_at", "params", NULL};
    const char *kind;
    struct json_at params;
    struct err why = {0};
    int rc = json_members(at, members, e);
    *c = command_defaults(COMMAND_UNKNOWN);
    rc = rc ? rc : json_get_id(at, "id", &c->id, e);
    rc = rc ? rc : json_get_str(at, "kind", HW_NAME_MAX, &kind, e);
    rc = rc ? rc : json_get_int(at, "issued_at", 0, TIME_MAX, &c->issued_at, e);
    rc = rc ? rc : json_get_int(at, "expires_at", 0, TIME_MAX, &c->expires_at, e);
    rc = rc ? rc : json_get_object(at, "params", &params, e);
    if (rc)
        return rc;
    unsigned k = 0;
    while (kinds[k] && strcmp(kinds[k], kind) != 0)
        k++;
    struct hw_id id = c->id;
    int64_t issued_at = c->issued_at, expires_at = c->expires_at;
    *c = command_defaults((enum command_kind)k);
    c->id = id;
    c->issued_at = issued_at;
    c->expires_at = expires_at;
    if (c->kind != COMMAND_UNKNOWN && get_params(&params, c, &why) < 0)
        (void)snprintf(c->refusal, sizeof c->refusal, "%.60s: %.120s", why.field, why.text);
    return 0;
}

int command_poll_decode(const char *json, size_t len, struct command_poll *out, struct err *e)
{
    static const char *const members[] = {"config_revision", "denials_revision", "commands", NULL};
    struct json_object *doc;
    struct json_at commands;
    int rc = json_parse(json, len, HW_REQUEST_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    *out = (struct command_poll){0};
    struct json_at top = json_root(doc);
    rc = json_members(&top, members, e);
    rc = rc ? rc : json_get_uint(&top, "config_revision", 0, UINT64_MAX, &out->config_revision, e);
    rc =
        rc ? rc : json_get_uint(&top, "denials_revision", 0, UINT64_MAX, &out->denials_revision, e);
    rc = rc ? rc
            : json_get_array(&top, "commands", COMMAND_POLL_MAX, &commands, &out->n_commands, e);
    for (size_t i = 0; !rc && i < out->n_commands; i++) {
        struct json_at at = json_element(&commands, i);
        rc = get_command(&at, &out->commands[i], e);
    }
    json_free(doc);
    return rc;
}

/* ---- report ---- */

char *command_report_encode(struct command_report *r, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_uint(&w, "sequence", r->sequence);
    json_put_str(&w, "state", states[r->state]);
    json_open_object(&w, "progress");
    json_put_uint(&w, "done", r->done);
    if (r->total)
        json_put_uint(&w, "total", r->total);
    else
        json_put_null(&w, "total");
    json_put_str(&w, "text", r->text);
    json_close(&w);
    if (r->result)
        json_put_raw(&w, "result", r->result);
    else
        json_put_null(&w, "result");
    r->result = NULL;
    if (r->error_code[0]) {
        json_open_object(&w, "error");
        json_put_str(&w, "code", r->error_code);
        json_put_str(&w, "text", r->error_text);
        json_close(&w);
    } else {
        json_put_null(&w, "error");
    }
    return json_finish(&w, len);
}

static int get_progress(const struct json_at *at, struct command_report *r, struct err *e)
{
    static const char *const members[] = {"done", "total", "text", NULL};
    uint32_t done = 0, total = 0;
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_get_u32(at, "done", 0, 1000000, &done, e);
    if (!rc && json_has(at, "total"))
        rc = json_get_u32(at, "total", 0, 1000000, &total, e);
    r->done = done;
    r->total = total;
    return rc ? rc : json_get_text(at, "text", r->text, sizeof r->text, e);
}

static int get_error(const struct json_at *at, struct command_report *r, struct err *e)
{
    static const char *const members[] = {"code", "text", NULL};
    unsigned code = 0;
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_get_enum(at, "code", codes, &code, e);
    if (!rc)
        (void)snprintf(r->error_code, sizeof r->error_code, "%s", codes[code]);
    return rc ? rc : json_get_text(at, "text", r->error_text, sizeof r->error_text, e);
}

static int get_report(const struct json_at *top, struct command_report *r, struct err *e)
{
    static const char *const members[] = {"sequence", "state", "progress", "result", "error", NULL};
    struct json_at progress, result, error;
    unsigned state = 0;
    int rc = json_members(top, members, e);
    rc = rc ? rc : json_get_uint(top, "sequence", 1, INT64_MAX, &r->sequence, e);
    rc = rc ? rc : json_get_enum(top, "state", states, &state, e);
    r->state = (enum command_state)state;
    rc = rc ? rc : json_get_object(top, "progress", &progress, e);
    rc = rc ? rc : get_progress(&progress, r, e);
    if (!rc && json_has(top, "error") && !(rc = json_get_object(top, "error", &error, e)))
        rc = get_error(&error, r, e);
    if (!rc && json_has(top, "result") && !(rc = json_get_object(top, "result", &result, e))) {
        r->result = json_text(&result);
        if (!r->result)
            rc = err_set(e, HW_ENOMEM, "out of memory");
        else if (strlen(r->result) > COMMAND_RESULT_MAX)
            rc = err_set_field(e, HW_ETOOBIG, "result", "more than %u bytes", COMMAND_RESULT_MAX);
    }
    return rc;
}

int command_report_decode(const char *json, size_t len, struct command_report *out, struct err *e)
{
    struct json_object *doc;
    int rc = json_parse(json, len, COMMAND_REPORT_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    struct command_report r = {0};
    rc = get_report(&top, &r, e);
    json_free(doc);
    if (rc)
        command_report_done(&r);
    else
        *out = r;
    return rc;
}

void command_report_done(struct command_report *r)
{
    free(r->result);
    r->result = NULL;
}
