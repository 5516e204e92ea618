#include "common/esp_suite.h"
#include "controller/api/api.h"
#include "controller/api/performance.h"
#include "controller/api/status_json.h"
#include "controller/app.h"
#include "controller/store/connection.h"
#include "controller/store/gateway.h"
#include "controller/store/link.h"
#include "controller/store/site.h"
#include "controller/store/telemetry.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct seen {
    struct status status;
    double tx_bps, rx_bps, busy, published_ratio; /* NaN: not known, or old */
};

struct picture {
    struct store_site *sites;
    struct store_gateway *gateways;
    struct store_connection *connections;
    struct store_link *links;
    size_t n_sites, n_gateways, n_connections, n_links;
    struct seen *seen;     /* beside gateways */
    struct status *status; /* beside links */
};

static void picture_done(struct picture *p)
{
    store_gateway_free(p->gateways, p->n_gateways);
    free(p->sites);
    free(p->connections);
    free(p->links);
    free(p->seen);
    free(p->status);
}

/* ---- read ---- */

/* What agents reported last, of all at once: a console asks for the picture every few seconds. */
struct reports {
    struct store_telemetry *gateways; /* by gateway_id */
    struct store_link_status *ends;   /* by link_id */
    size_t n_gateways, n_ends;
    struct performance_memo sizes;
};

static void reports_done(struct reports *r)
{
    store_telemetry_free(r->gateways, r->n_gateways);
    free(r->ends);
    performance_memo_done(&r->sizes);
}

static int cmp_gateway(const void *id, const void *row)
{
    return memcmp(id, &((const struct store_telemetry *)row)->gateway_id, sizeof(struct hw_id));
}

static int cmp_link(const void *id, const void *row)
{
    return memcmp(id, &((const struct store_link_status *)row)->link_id, sizeof(struct hw_id));
}

static const char *provider_of(const struct picture *p, const struct hw_id *site)
{
    for (size_t i = 0; i < p->n_sites; i++)
        if (id_equal(&p->sites[i].id, site))
            return p->sites[i].provider;
    return "";
}

static int see_gateway(struct app *app, struct db *db, const struct picture *p, struct reports *r,
                       const struct store_gateway *g, struct seen *out, struct err *e)
{
    struct performance performance;
    const struct store_telemetry *t = r->n_gateways ? bsearch(&g->id, r->gateways, r->n_gateways,
                                                              sizeof *r->gateways, cmp_gateway)
                                                    : NULL;
    *out = (struct seen){.tx_bps = NAN, .rx_bps = NAN, .busy = NAN, .published_ratio = NAN};
    status_judge_gateway(app->watch, g, t, store_now(db), &out->status);
    if (!t)
        return 0;
    if (!status_is_stale(t->observed_at, t->interval_seconds, store_now(db))) {
        out->tx_bps = t->goodput_tx_bps;
        out->rx_bps = t->goodput_rx_bps;
        out->busy = t->busy_ratio;
    }
    int rc = performance_among(db, &r->sizes, provider_of(p, &g->site_id), g, t, &performance, e);
    if (!rc)
        out->published_ratio = performance.ratio;
    return rc;
}

static void see_link(struct db *db, const struct picture *p, const struct reports *r,
                     const struct store_link *l, struct status *out)
{
    const struct store_link_status *ends =
        r->n_ends ? bsearch(&l->id, r->ends, r->n_ends, sizeof *r->ends, cmp_link) : NULL;
    const struct store_link_status *last = r->ends + r->n_ends;
    bool enabled = true;
    size_t n = ends ? 1 : 0;
    if (ends && ends > r->ends && id_equal(&ends[-1].link_id, &l->id)) {
        ends--;
        n = 2;
    } else if (ends && ends + 1 < last && id_equal(&ends[1].link_id, &l->id)) {
        n = 2;
    }
    for (size_t i = 0; i < p->n_connections; i++)
        if (id_equal(&p->connections[i].id, &l->connection_id))
            enabled = p->connections[i].enabled;
    status_judge_link(l, enabled, ends, n, store_now(db), out);
}

static int see_all(struct app *app, struct db *db, struct picture *p, struct reports *r,
                   struct err *e)
{
    int rc = store_telemetry_all(db, &r->gateways, &r->n_gateways, e);
    rc = rc ? rc : store_link_status_all(db, &r->ends, &r->n_ends, e);
    for (size_t i = 0; !rc && i < p->n_gateways; i++)
        rc = see_gateway(app, db, p, r, &p->gateways[i], &p->seen[i], e);
    for (size_t i = 0; !rc && i < p->n_links; i++)
        see_link(db, p, r, &p->links[i], &p->status[i]);
    return rc;
}

static int read_picture(struct app *app, struct db *db, struct picture *p, struct err *e)
{
    struct reports reports = {.n_gateways = 0};
    int rc = store_site_all(db, &p->sites, &p->n_sites, e);
    rc = rc ? rc : store_gateway_all(db, &p->gateways, &p->n_gateways, e);
    rc = rc ? rc : store_connection_all(db, &p->connections, &p->n_connections, e);
    rc = rc ? rc : store_link_all(db, &p->links, &p->n_links, e);
    if (rc)
        return rc;
    p->seen = calloc(p->n_gateways + 1, sizeof *p->seen);
    p->status = calloc(p->n_links + 1, sizeof *p->status);
    if (!p->seen || !p->status)
        return err_set(e, HW_ENOMEM, "out of memory");
    rc = see_all(app, db, p, &reports, e);
    reports_done(&reports);
    return rc;
}

/* ---- states of many ---- */

struct tally {
    unsigned n[STATUS_DISABLED + 1], all;
};

static void count(struct tally *t, enum status_state s)
{
    t->n[s]++;
    t->all++;
}

/* Of what consists of these: disabled ones don't count beside others. */
static const char *state_of_all(const struct tally *t)
{
    unsigned counted = t->all - t->n[STATUS_DISABLED];
    if (counted == 0)
        return status_state_name(t->all ? STATUS_DISABLED : STATUS_UNKNOWN);
    if (t->n[STATUS_UP] == counted)
        return status_state_name(STATUS_UP);
    if (t->n[STATUS_DOWN] == counted)
        return status_state_name(STATUS_DOWN);
    return status_state_name(t->n[STATUS_UNKNOWN] == counted ? STATUS_UNKNOWN : STATUS_DEGRADED);
}

/* ---- write ---- */

static void put_known(struct json_writer *w, const char *key, double v)
{
    if (isnan(v))
        json_put_null(w, key);
    else
        json_put_double(w, key, v);
}

static void put_mtu(struct json_writer *w, uint32_t mtu)
{
    if (mtu)
        json_put_uint(w, "mtu", mtu);
    else
        json_put_null(w, "mtu");
}

static void put_sites(struct json_writer *w, const struct picture *p)
{
    json_open_array(w, "sites");
    for (size_t i = 0; i < p->n_sites; i++) {
        const struct store_site *s = &p->sites[i];
        struct tally t = {.all = 0};
        for (size_t k = 0; k < p->n_gateways; k++)
            if (id_equal(&p->gateways[k].site_id, &s->id))
                count(&t, p->seen[k].status.state);
        json_open_object(w, NULL);
        json_put_id(w, "id", &s->id);
        json_put_str(w, "name", s->name);
        json_put_str(w, "role", s->role == SITE_TRANSIT ? "transit" : "spoke");
        json_put_str(w, "provider", s->provider);
        json_put_str(w, "region", s->region[0] ? s->region : NULL);
        json_put_str(w, "domain", s->domain);
        json_put_bool(w, "trusted_underlay", s->trusted_underlay);
        json_put_str(w, "state", state_of_all(&t));
        json_close(w);
    }
    json_close(w);
}

static void put_gateways(struct json_writer *w, const struct picture *p, int64_t now)
{
    json_open_array(w, "gateways");
    for (size_t i = 0; i < p->n_gateways; i++) {
        const struct store_gateway *g = &p->gateways[i];
        json_open_object(w, NULL);
        json_put_id(w, "id", &g->id);
        json_put_str(w, "name", g->name);
        json_put_id(w, "site_id", &g->site_id);
        json_put_str(w, "state", gateway_state_name(g->state));
        json_put_str(w, "size", g->size[0] ? g->size : NULL);
        status_json_put(w, &p->seen[i].status, now);
        put_known(w, "goodput_tx_bps", p->seen[i].tx_bps);
        put_known(w, "goodput_rx_bps", p->seen[i].rx_bps);
        put_known(w, "busy_ratio", p->seen[i].busy);
        put_known(w, "published_ratio", p->seen[i].published_ratio);
        json_close(w);
    }
    json_close(w);
}

/* The sum, largest or smallest of a connection's links, where known. */
struct sums {
    struct tally states;
    double ab_bps, ba_bps, rtt_us, loss;
    uint32_t mtu;
    unsigned tunnels_up, tunnels_total;
    bool any_suite, all_encrypted;
};

static double plus(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + b;
}

static double larger(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

static bool is_unencrypted(const struct status *s)
{
    const struct esp_suite *suite = esp_suite_by_id(s->suite);
    return suite && !esp_suite_encrypts(suite);
}

static struct sums sum_links(const struct picture *p, const struct hw_id *connection)
{
    struct sums c = {
        .ab_bps = NAN, .ba_bps = NAN, .rtt_us = NAN, .loss = NAN, .all_encrypted = true};
    for (size_t i = 0; i < p->n_links; i++) {
        const struct status *s = &p->status[i];
        if (!id_equal(&p->links[i].connection_id, connection))
            continue;
        count(&c.states, s->state);
        c.ab_bps = plus(c.ab_bps, s->ab_bps);
        c.ba_bps = plus(c.ba_bps, s->ba_bps);
        c.rtt_us = larger(c.rtt_us, s->rtt_us);
        c.loss = larger(c.loss, s->loss_ratio);
        c.mtu = s->mtu && (!c.mtu || s->mtu < c.mtu) ? s->mtu : c.mtu;
        c.tunnels_up += s->tunnels_up;
        c.tunnels_total += s->tunnels_total;
        c.any_suite = c.any_suite || s->suite;
        c.all_encrypted = c.all_encrypted && !is_unencrypted(s);
    }
    return c;
}

static void put_measured(struct json_writer *w, double ab, double ba, double rtt_us, double loss,
                         uint32_t mtu)
{
    put_known(w, "goodput_ab_bps", ab);
    put_known(w, "goodput_ba_bps", ba);
    put_known(w, "rtt_ms", rtt_us / 1000);
    put_known(w, "loss_ratio", loss);
    put_mtu(w, mtu);
}

static void put_connections(struct json_writer *w, const struct picture *p, unsigned *unencrypted)
{
    json_open_array(w, "connections");
    for (size_t i = 0; i < p->n_connections; i++) {
        const struct store_connection *c = &p->connections[i];
        struct sums s = sum_links(p, &c->id);
        json_open_object(w, NULL);
        json_put_id(w, "id", &c->id);
        json_put_str(w, "name", c->name);
        json_put_str(w, "kind", link_kind_name(c->kind));
        json_put_id(w, "site_a_id", &c->site_a_id);
        json_put_id(w, "site_b_id", &c->site_b_id);
        json_put_bool(w, "enabled", c->enabled);
        json_put_str(w, "state", c->enabled ? state_of_all(&s.states) : "disabled");
        if (s.any_suite)
            json_put_bool(w, "encrypted", s.all_encrypted);
        else
            json_put_null(w, "encrypted");
        put_measured(w, s.ab_bps, s.ba_bps, s.rtt_us, s.loss, s.mtu);
        json_put_uint(w, "tunnels_up", s.tunnels_up);
        json_put_uint(w, "tunnels_total", s.tunnels_total);
        json_close(w);
        *unencrypted += s.any_suite && !s.all_encrypted;
    }
    json_close(w);
}

static void put_links(struct json_writer *w, const struct picture *p, int64_t now)
{
    json_open_array(w, "links");
    for (size_t i = 0; i < p->n_links; i++) {
        const struct store_link *l = &p->links[i];
        const struct status *s = &p->status[i];
        json_open_object(w, NULL);
        json_put_id(w, "id", &l->id);
        if (id_is_zero(&l->connection_id))
            json_put_null(w, "connection_id");
        else
            json_put_id(w, "connection_id", &l->connection_id);
        json_put_str(w, "kind", link_kind_name(l->kind));
        json_put_id(w, "gateway_a_id", &l->gateway_a_id);
        json_put_id(w, "gateway_b_id", &l->gateway_b_id);
        status_json_put_link(w, s, now);
        put_measured(w, s->ab_bps, s->ba_bps, s->rtt_us, s->loss_ratio, s->mtu);
        json_close(w);
    }
    json_close(w);
}

static void put_totals(struct json_writer *w, const struct picture *p, unsigned unencrypted)
{
    unsigned gateways_up = 0, links_up = 0, tunnels_up = 0, tunnels = 0;
    double sent = 0;
    for (size_t i = 0; i < p->n_gateways; i++) {
        gateways_up += p->seen[i].status.state == STATUS_UP;
        sent = plus(sent, p->seen[i].tx_bps);
    }
    for (size_t i = 0; i < p->n_links; i++) {
        links_up += p->status[i].state == STATUS_UP;
        tunnels_up += p->status[i].tunnels_up;
        tunnels += p->status[i].tunnels_total;
    }
    json_open_object(w, "totals");
    json_put_double(w, "goodput_bps", sent);
    json_put_uint(w, "gateways_up", gateways_up);
    json_put_uint(w, "gateways_total", p->n_gateways);
    json_put_uint(w, "links_up", links_up);
    json_put_uint(w, "links_total", p->n_links);
    json_put_uint(w, "tunnels_up", tunnels_up);
    json_put_uint(w, "tunnels_total", tunnels);
    json_put_uint(w, "unencrypted_connections", unencrypted);
    json_close(w);
}

/* GET /api/v1/topology */
int topology_get(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    struct picture p = {.sites = NULL};
    struct db *db;
    (void)req;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = read_picture(app, db, &p, e);
    if (!rc) {
        struct json_writer w;
        int64_t now = store_now(db);
        unsigned unencrypted = 0;
        json_writer_init(&w);
        json_put_uint(&w, "revision", store_revision(db));
        body_put_time(&w, "generated_at", now);
        put_sites(&w, &p);
        put_gateways(&w, &p, now);
        put_connections(&w, &p, &unencrypted);
        put_links(&w, &p, now);
        put_totals(&w, &p, unencrypted);
        http_response_json(res, 200, json_finish(&w, NULL));
    }
    store_read_end(db);
    picture_done(&p);
    return rc;
}
