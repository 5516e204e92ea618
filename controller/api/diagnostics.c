#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/api/idempotency.h"
#include "controller/api/operation_json.h"
#include "controller/app.h"
#include "controller/audit/audit.h"
#include "controller/operations/operations.h"
#include "controller/store/gateway.h"
#include "controller/store/link.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request as read, before its target is known as an address. */
struct ask {
    struct command command;
    struct hw_id gateway_id;
    struct hw_id target_gateway_id; /* zero: target_address */
    struct ipaddr target_address;
    unsigned family; /* 0: left to us */
    bool both_ways;
};

static const char *const trace_members[] = {
    "gateway_id", "target_gateway_id", "target_address", "network",    "family",    "protocol",
    "port",       "max_hops",          "probes_per_hop", "timeout_ms", "both_ways", NULL};
static const char *const ping_members[] = {
    "gateway_id",  "target_gateway_id", "target_address", "network",       "family", "count",
    "interval_ms", "timeout_ms",        "size_bytes",     "dont_fragment", NULL};
static const char *const tcp_members[] = {
    "gateway_id", "target_gateway_id", "target_address", "network", "family",
    "port",       "attempts",          "timeout_ms",     NULL};
static const char *const *const members[] = {trace_members, ping_members, tcp_members};

/* ---- reading ---- */

static int read_target(const struct json_at *top, struct ask *a, struct err *e)
{
    bool by_gateway = json_has(top, "target_gateway_id"),
         by_address = json_has(top, "target_address");
    if (by_gateway == by_address)
        return err_set_field(e, HW_EINVAL, by_gateway ? "target_address" : "target_gateway_id",
                             "exactly one of target_gateway_id and target_address is set");
    if (by_gateway)
        return json_get_id(top, "target_gateway_id", &a->target_gateway_id, e);
    int rc = json_get_ip(top, "target_address", &a->target_address, e);
    if (!rc && ipaddr_is_special(&a->target_address))
        rc = err_set_field(e, HW_EINVAL, "target_address",
                           "no multicast, broadcast, loopback, unspecified or link-local address");
    return rc;
}

static int read_family(const struct json_at *top, struct ask *a, struct err *e)
{
    uint32_t family = 0;
    int rc = 0;
    if (json_has(top, "family"))
        rc = json_get_u32(top, "family", 4, 6, &family, e);
    if (!rc && family == 5)
        rc = err_set_field(e, HW_EINVAL, "family", "4, 6 or null");
    if (!rc && family && a->target_address.family && a->target_address.family != family)
        rc = err_set_field(e, HW_EINVAL, "family", "not the family of target_address");
    a->family = family;
    return rc;
}

static int read_ask(const struct json_at *top, struct ask *a, struct err *e)
{
    int rc = json_get_id(top, "gateway_id", &a->gateway_id, e);
    if (!rc)
        rc = read_target(top, a, e);
    if (!rc && id_equal(&a->gateway_id, &a->target_gateway_id))
        rc = err_set_field(e, HW_EINVAL, "target_gateway_id", "the gateway itself");
    if (!rc)
        rc = read_family(top, a, e);
    if (!rc && a->command.kind == COMMAND_TCP_CONNECT && !json_has(top, "port"))
        rc = err_set_field(e, HW_EINVAL, "port", "this member is needed");
    if (!rc)
        rc = command_read_options(top, &a->command, e);
    if (!rc && json_presence(top, "both_ways") != JSON_ABSENT)
        rc = json_get_bool(top, "both_ways", &a->both_ways, e);
    return rc;
}

static int read_body(const struct http_request *req, struct ask *a, struct err *e)
{
    struct json_object *doc;
    struct json_at top;
    int rc = body_object(req, members[a->command.kind], &doc, &top, e);
    if (rc)
        return rc;
    rc = read_ask(&top, a, e);
    json_free(doc);
    return rc;
}

/* ---- from gateways to addresses ---- */

static bool wanted(const struct ask *a, const struct ipaddr *address)
{
    return address->family && (!a->family || a->family == address->family);
}

static void take_overlay(struct ask *a, const struct store_gateway *to)
{
    if (wanted(a, &to->overlay4))
        a->command.target = to->overlay4;
    else if (wanted(a, &to->overlay6))
        a->command.target = to->overlay6;
}

/* The addresses of their link; where there is none of the family, an endpoint. */
static int take_underlay(struct db *db, struct ask *a, const struct store_gateway *to,
                         struct err *e)
{
    struct store_page page = {.limit = UINT32_MAX};
    struct store_link *found = NULL;
    size_t n = 0;
    int rc = store_link_list(db, &page, NULL, &a->gateway_id, &found, &n, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < n && !a->command.target.family; i++) {
        const struct store_link *l = &found[i];
        bool from_a = id_equal(&l->gateway_a_id, &a->gateway_id);
        if (!id_equal(from_a ? &l->gateway_b_id : &l->gateway_a_id, &to->id) ||
            !wanted(a, &l->address_a))
            continue;
        a->command.source = from_a ? l->address_a : l->address_b;
        a->command.target = from_a ? l->address_b : l->address_a;
    }
    free(found);
    for (unsigned family = 4; family <= 6; family += 2)
        for (size_t i = 0; i < to->n_endpoints && !a->command.target.family; i++)
            if (to->endpoints[i].address.family == family && wanted(a, &to->endpoints[i].address))
                a->command.target = to->endpoints[i].address;
    return 0;
}

static int find_target(struct db *db, struct ask *a, struct err *e)
{
    struct store_gateway to;
    if (id_is_zero(&a->target_gateway_id)) {
        a->command.target = a->target_address;
        return 0;
    }
    int rc = store_gateway_get(db, &a->target_gateway_id, &to, e);
    if (rc == HW_ENOTFOUND)
        return err_set_field(e, HW_EINVAL, "target_gateway_id", "there is no such gateway");
    if (rc)
        return rc;
    if (a->command.network == COMMAND_OVERLAY)
        take_overlay(a, &to);
    else
        rc = take_underlay(db, a, &to, e);
    if (!rc && !a->command.target.family)
        rc = err_set_field(e, HW_EINVAL, "target_gateway_id",
                           "gateway %s has no address of this kind", to.name);
    store_gateway_done(&to);
    return rc;
}

static int check_gateway(struct db *db, const struct ask *a, struct err *e)
{
    enum gateway_state state;
    int rc = store_gateway_state(db, &a->gateway_id, &state, e);
    if (rc == HW_ENOTFOUND)
        return err_set_field(e, HW_EINVAL, "gateway_id", "there is no such gateway");
    if (!rc && state != GATEWAY_ENROLLED)
        rc = err_set_field(e, HW_ECONFLICT, "gateway_id", "the gateway is %s, nobody is there",
                           gateway_state_name(state));
    return rc;
}

/* ---- the operation ---- */

/* As accepted, defaults filled in. */
static char *request_text(const struct ask *a)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_id(&w, "gateway_id", &a->gateway_id);
    if (id_is_zero(&a->target_gateway_id))
        json_put_null(&w, "target_gateway_id");
    else
        json_put_id(&w, "target_gateway_id", &a->target_gateway_id);
    json_put_ip(&w, "target_address", &a->target_address);
    json_put_uint(&w, "family", a->command.target.family);
    command_put_options(&w, &a->command);
    if (a->command.kind == COMMAND_TRACE_PATH)
        json_put_bool(&w, "both_ways", a->both_ways);
    return json_finish(&w, NULL);
}

static int check_size(const struct ask *a, struct err *e)
{
    if (a->command.kind == COMMAND_PING && a->command.target.family == 6 &&
        a->command.size_bytes < 48)
        return err_set_field(e, HW_EINVAL, "size_bytes", "at least 48 over IPv6");
    return 0;
}

static int begin(struct db *db, const struct http_request *req, struct ask *a,
                 struct operations_wake *wake, struct store_answer *out, struct err *e)
{
    char text[ID_TEXT_MAX];
    struct store_operation o = {
        .id = id_new(), .gateway_id = a->gateway_id, .created_by = req->api_key_id};
    int rc = check_gateway(db, a, e);
    if (!rc)
        rc = find_target(db, a, e);
    if (!rc)
        rc = check_size(a, e);
    if (rc)
        return rc;
    (void)snprintf(o.kind, sizeof o.kind, "%s", command_kind_name(a->command.kind));
    o.request = request_text(a);
    rc = o.request ? operations_begin(db, &o, &a->command, wake, e)
                   : err_set(e, HW_ENOMEM, "out of memory");
    if (!rc)
        rc = operation_json(db, &o.id, &out->body, e);
    if (!rc)
        rc = audit_request(db, req, &(struct audit_change){.id = &o.id}, e);
    out->status = 202;
    (void)snprintf(out->location, sizeof out->location, "/api/v1/operations/%s",
                   id_text(&o.id, text));
    store_operation_done(&o);
    return rc ? rc : idempotency_keep(db, req, out, e);
}

static int ask(struct app *app, struct http_request *req, struct http_response *res,
               enum command_kind kind, struct err *e)
{
    struct ask a = {.command = command_defaults(kind), .both_ways = kind == COMMAND_TRACE_PATH};
    struct operations_wake wake = {.n = 0};
    struct store_answer answer = {0};
    struct db *db;
    int rc = read_body(req, &a, e);
    if (!rc)
        rc = store_begin(app->store, STORE_TELEMETRY, &db, e);
    if (rc)
        return rc;
    rc = idempotency_find(db, req, &answer, e);
    if (rc == HW_ENOTFOUND)
        rc = begin(db, req, &a, &wake, &answer, e);
    if (rc)
        store_rollback(db);
    else
        rc = store_commit(db, e);
    if (rc) {
        free(answer.body);
        return rc;
    }
    operations_tell(&wake, app->hub);
    http_response_header(res, "Location", "%s", answer.location);
    http_response_json(res, answer.status, answer.body);
    return 0;
}

int diagnostics_trace_path(struct app *app, struct http_request *req, struct http_response *res,
                           struct err *e)
{
    return ask(app, req, res, COMMAND_TRACE_PATH, e);
}

int diagnostics_ping(struct app *app, struct http_request *req, struct http_response *res,
                     struct err *e)
{
    return ask(app, req, res, COMMAND_PING, e);
}

int diagnostics_tcp_connect(struct app *app, struct http_request *req, struct http_response *res,
                            struct err *e)
{
    return ask(app, req, res, COMMAND_TCP_CONNECT, e);
}
