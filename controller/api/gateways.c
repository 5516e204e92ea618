#include "common/model/node.h"
#include "controller/api/api.h"
#include "controller/api/page.h"
#include "controller/api/performance.h"
#include "controller/api/resource.h"
#include "controller/api/status_json.h"
#include "controller/app.h"
#include "controller/store/denial.h"
#include "controller/store/gateway.h"
#include "controller/store/signed.h"
#include "controller/store/site.h"
#include "controller/store/telemetry.h"
#include "controller/telemetry/counters.h"
#include "controller/telemetry/gateway_watch.h"
#include "controller/telemetry/status.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORT_BASE_MIN 1024
#define PORT_BASE_MAX (65536 - HW_PORTS_PER_GATEWAY)
#define WEIGHT_MAX    1000

static const char *const members[] = {"name",      "site_id", "size", "port_base",
                                      "endpoints", "weight",  NULL};

/* --- JSON out --- */

static void put_endpoints(struct json_writer *w, const struct store_gateway *g)
{
    json_open_array(w, "endpoints");
    for (size_t i = 0; i < g->n_endpoints; i++) {
        const struct store_endpoint *p = &g->endpoints[i];
        node_endpoint_put(w, &(struct node_endpoint){
                                 .address = p->address,
                                 .scope = p->is_public ? NODE_PUBLIC : NODE_PRIVATE,
                                 .reachable = p->reachable,
                             });
    }
    json_close(w);
}

/* Stored JSON (checked when it came in) as a value; `otherwise` is used when there is none. */
static void put_stored(struct json_writer *w, const char *key, const char *json,
                       const char *otherwise)
{
    struct json_object *v = NULL;
    const char *text = json ? json : otherwise;
    if (json_parse(text, strlen(text), HW_CONFIG_BODY_MAX, &v, NULL))
        json_put_null(w, key);
    else
        json_put_value(w, key, v);
}

static void put_certificate(struct json_writer *w, const struct store_gateway *g)
{
    if (!g->cert_serial[0]) {
        json_put_null(w, "certificate");
        return;
    }
    json_open_object(w, "certificate");
    json_put_str(w, "serial", g->cert_serial);
    body_put_time(w, "not_after", g->cert_not_after);
    json_close(w);
}

static void put_revisions(struct json_writer *w, uint64_t config, const struct store_telemetry *t)
{
    json_open_object(w, "revisions");
    json_put_uint(w, "config", config);
    json_put_uint(w, "received", t->received);
    json_put_uint(w, "applied", t->applied);
    json_put_uint(w, "in_force", t->in_force);
    put_stored(w, "refused", t->refused_json, "[]");
    json_close(w);
}

static void put_telemetry(struct json_writer *w, const struct store_telemetry *t)
{
    if (!t->observed_at) {
        json_put_null(w, "telemetry");
        return;
    }
    json_open_object(w, "telemetry");
    body_put_time(w, "observed_at", t->observed_at);
    json_put_double(w, "interval_seconds", t->interval_seconds);
    json_put_double(w, "goodput_tx_bps", t->goodput_tx_bps);
    json_put_double(w, "goodput_rx_bps", t->goodput_rx_bps);
    json_put_double(w, "wire_tx_bps", t->wire_tx_bps);
    json_put_double(w, "wire_rx_bps", t->wire_rx_bps);
    json_put_uint(w, "links_up", t->links_up);
    json_put_uint(w, "links_degraded", t->links_degraded);
    json_put_uint(w, "links_down", t->links_down);
    json_close(w);
}

/* Peers that have not confirmed a revocation yet: they may still talk to the gateway. */
static int put_unconfirmed(struct json_writer *w, struct db *db, const struct store_gateway *g,
                           struct err *e)
{
    struct hw_id *peers = NULL;
    size_t n = 0;
    int rc = g->state == GATEWAY_REVOKED ? store_denial_unconfirmed(db, &g->id, &peers, &n, e) : 0;
    json_open_array(w, "unconfirmed_peers");
    for (size_t i = 0; i < n; i++)
        json_put_id(w, NULL, &peers[i]);
    json_close(w);
    free(peers);
    return rc;
}

static int put_gateway(struct json_writer *w, const struct resource_context *c, const void *row,
                       struct err *e)
{
    const struct store_gateway *g = row;
    struct db *db = c->db;
    struct store_telemetry t = {0};
    struct performance performance;
    struct status status = {0};
    uint64_t config = 0;
    int rc = store_config_revision(db, &g->id, &config, e);
    if (!rc)
        rc = status_of_gateway(db, c->app->watch, g, store_now(db), &status, e);
    if (!rc)
        rc = store_telemetry_last(db, &g->id, &t, e);
    if (!rc || rc == HW_ENOTFOUND)
        rc = performance_of(db, g, &t, &performance, e);
    if (rc) {
        store_telemetry_done(&t);
        return rc;
    }
    json_put_id(w, "id", &g->id);
    json_put_str(w, "name", g->name);
    json_put_id(w, "site_id", &g->site_id);
    json_put_str(w, "size", g->size[0] ? g->size : NULL);
    json_put_uint(w, "port_base", g->port_base);
    put_endpoints(w, g);
    json_put_str(w, "endpoints_source", g->endpoints_by_operator ? "operator" : "agent");
    json_put_uint(w, "weight", g->weight);
    json_put_str(w, "state", gateway_state_name(g->state));
    json_open_object(w, "overlay");
    json_put_ip(w, "ipv4", &g->overlay4);
    json_put_ip(w, "ipv6", &g->overlay6);
    json_close(w);
    put_stored(w, "interfaces", g->interfaces_json, "[]");
    json_put_str(w, "agent_version", g->agent_version[0] ? g->agent_version : NULL);
    node_cloud_put(w, &g->cloud);
    put_certificate(w, g);
    put_revisions(w, config, &t);
    status_json_put(w, &status, store_now(db));
    put_telemetry(w, &t);
    performance_put(w, &performance);
    rc = put_unconfirmed(w, db, g, e);
    body_put_common(w, &g->common);
    store_telemetry_done(&t);
    return rc;
}

/* --- JSON in --- */

static int read_endpoint(const struct json_at *array, size_t i, struct store_gateway *g,
                         struct err *e)
{
    struct json_at at = json_element(array, i);
    struct node_endpoint p;
    int rc = node_endpoint_get(&at, &p, e);
    if (rc)
        return rc;
    for (size_t k = 0; k < i; k++)
        if (ipaddr_equal(&g->endpoints[k].address, &p.address))
            return json_refuse(&at, e, "this address is in the list already");
    g->endpoints[i] = (struct store_endpoint){
        .address = p.address,
        .is_public = p.scope == NODE_PUBLIC,
        .reachable = p.reachable,
    };
    return 0;
}

/* null gives them back to the agent; what it last said stays until its next report. */
static int read_endpoints(const struct json_at *top, struct store_gateway *g, struct err *e)
{
    if (json_presence(top, "endpoints") == JSON_NULL) {
        g->endpoints_by_operator = false;
        return 0;
    }
    struct json_at array;
    size_t n;
    int rc = json_get_array(top, "endpoints", HW_ENDPOINTS_MAX, &array, &n, e);
    for (size_t i = 0; i < n && !rc; i++)
        rc = read_endpoint(&array, i, g, e);
    if (!rc) {
        g->n_endpoints = n;
        g->endpoints_by_operator = true;
    }
    return rc;
}

static int read_size(const struct json_at *top, struct store_gateway *g, struct err *e)
{
    if (json_presence(top, "size") == JSON_NULL) {
        g->size[0] = '\0';
        return 0;
    }
    return json_get_text(top, "size", g->size, sizeof g->size, e);
}

static int read_gateway(const struct json_at *top, enum body_mode mode, void *row, struct err *e)
{
    struct store_gateway *g = row;
    uint64_t port = g->port_base, weight = g->weight;
    int rc = 0;
    if (body_wants(top, "name", mode, true))
        rc = json_get_name(top, "name", g->name, e);
    if (!rc && body_wants(top, "site_id", mode, true))
        rc = json_get_id(top, "site_id", &g->site_id, e);
    if (!rc && body_wants(top, "size", mode, false))
        rc = read_size(top, g, e);
    if (!rc && body_wants(top, "port_base", mode, false))
        rc = json_get_uint(top, "port_base", PORT_BASE_MIN, PORT_BASE_MAX, &port, e);
    if (!rc && body_wants(top, "endpoints", mode, false))
        rc = read_endpoints(top, g, e);
    if (!rc && body_wants(top, "weight", mode, false))
        rc = json_get_uint(top, "weight", 1, WEIGHT_MAX, &weight, e);
    g->port_base = (uint16_t)port;
    g->weight = (unsigned)weight;
    return rc;
}

static int check_gateway(struct db *db, const void *old, void *row, struct err *e)
{
    const struct store_gateway *g = row;
    struct store_site s;
    (void)old;
    int rc = store_site_get(db, &g->site_id, &s, e);
    return rc == HW_ENOTFOUND ? err_set_field(e, HW_EINVAL, "site_id", "there is no such site")
                              : rc;
}

/* --- the resource --- */

static void defaults(void *row)
{
    struct store_gateway *g = row;
    g->port_base = HW_PORT_BASE_DEFAULT;
    g->weight = 100;
    g->state = GATEWAY_PENDING;
}

RESOURCE_STORE(gateway)

static int list_gateways(struct db *db, const struct http_request *req,
                         const struct store_page *page, void **rows, size_t *n, struct err *e)
{
    struct store_gateway *list = NULL;
    struct hw_id site_id;
    bool by_site;
    int rc = page_filter_id(req, "site_id", &site_id, &by_site, e);
    if (!rc)
        rc = store_gateway_list(db, page, by_site ? &site_id : NULL, &list, n, e);
    *rows = list;
    return rc;
}

/* Refuses the gateway from now on. Again for a revoked one: nothing changes. A pending one has no
 * certificate to deny, but its enrolment ends. */
static int revoke(struct db *db, void *row, struct err *e)
{
    struct store_gateway *g = row;
    if (g->state == GATEWAY_REVOKED)
        return 0;
    int rc = store_denial_add(db, &g->id, e);
    if (!rc)
        rc = store_config_delete(db, &g->id, e);
    g->state = GATEWAY_REVOKED;
    return rc ? rc : store_gateway_update(db, g, e);
}

int gateways_revoke(struct app *app, struct http_request *req, struct http_response *res,
                    struct err *e)
{
    return resource_act(app, req, res, revoke, e);
}

/* An enrolled gateway is revoked first: its certificate outlives its row. */
static int remove_gateway(struct db *db, void *row, struct err *e)
{
    struct store_gateway *g = row;
    int rc = g->state == GATEWAY_ENROLLED ? revoke(db, g, e) : 0;
    return rc ? rc : store_gateway_delete(db, &g->id, e);
}

static void forget_gateway(struct app *app, const struct hw_id *id)
{
    gateway_watch_forget(app->watch, id);
    counters_free(counters_table_take(app->counters, id));
}

static void gateway_done(void *row)
{
    store_gateway_done(row);
}

static const char *const filters[] = {"site_id", NULL};

const struct resource gateways = {
    .path = "/api/v1/gateways",
    .filters = filters,
    .members = members,
    .changes = members,
    .size = sizeof(struct store_gateway),
    .id = offsetof(struct store_gateway, id),
    .common = offsetof(struct store_gateway, common),
    .key = offsetof(struct store_gateway, name),
    .planned = true,
    .defaults = defaults,
    .read = read_gateway,
    .check = check_gateway,
    .put = put_gateway,
    .get = get_gateway,
    .list = list_gateways,
    .insert = insert_gateway,
    .update = update_gateway,
    .remove = remove_gateway,
    .removed = forget_gateway,
    .done = gateway_done,
};
