#include "controller/api/api.h"
#include "controller/api/status_json.h"
#include "controller/app.h"
#include "controller/store/gateway.h"
#include "controller/store/link.h"
#include "controller/telemetry/last.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What one end of the link last said. */
struct end {
    struct hw_id gateway;
    char name[HW_NAME_MAX + 1];
    bool known; /* it has reported this link */
    struct last last;
    const struct report_link *link;
};

static const struct report_tunnel *tunnel_of(const struct end *end, unsigned number)
{
    for (size_t i = 0; end->known && i < end->link->n_tunnels; i++)
        if (end->link->tunnels[i].tunnel == number)
            return &end->link->tunnels[i];
    return NULL;
}

static int read_end(struct db *db, const struct hw_id *gateway, const struct hw_id *link,
                    struct end *out, struct err *e)
{
    struct store_gateway g;
    out->gateway = *gateway;
    int rc = store_gateway_get(db, gateway, &g, e);
    if (rc)
        return rc;
    (void)snprintf(out->name, sizeof out->name, "%s", g.name);
    store_gateway_done(&g);
    rc = last_read(db, gateway, &out->last, e);
    if (rc)
        return rc == HW_ENOTFOUND ? 0 : rc;
    out->link = last_link(&out->last, link);
    out->known = out->link != NULL;
    return 0;
}

/* ---- status ---- */

static enum status_state state_of(const struct report_tunnel *t)
{
    if (t->state == DP_TUNNEL_UP)
        return STATUS_UP;
    return t->state == DP_TUNNEL_PROBING ? STATUS_DEGRADED : STATUS_DOWN;
}

/* The worse of the ends that have spoken lately. */
static struct status judge(const struct end ends[2], unsigned number, int64_t now)
{
    struct status s = {.state = STATUS_UNKNOWN, .reason = "neither end has reported it"};
    unsigned fresh = 0;
    int64_t newest = 0;
    for (int i = 0; i < 2; i++) {
        const struct report_tunnel *t = tunnel_of(&ends[i], number);
        if (!t)
            continue;
        newest = ends[i].last.observed_at > newest ? ends[i].last.observed_at : newest;
        if (ends[i].last.stale)
            continue;
        if (fresh == 0 || state_of(t) > s.state) {
            s.state = state_of(t);
            (void)snprintf(s.reason, sizeof s.reason, "%s", dp_tunnel_reason_name(t->reason));
        }
        if (fresh == 0 || ends[i].last.observed_at < s.observed_at)
            s.observed_at = ends[i].last.observed_at;
        size_t at = strlen(s.observer);
        (void)snprintf(s.observer + at, sizeof s.observer - at, "%s%.30s", at ? ", " : "",
                       ends[i].name);
        fresh++;
    }
    if (!fresh && newest) {
        s.observed_at = newest;
        (void)snprintf(s.observer, sizeof s.observer, "controller");
        (void)snprintf(s.reason, sizeof s.reason, "no report for %lld s",
                       (long long)(now > newest ? now - newest : 0));
    }
    return s;
}
_Static_assert((int)STATUS_UP < STATUS_DEGRADED && (int)STATUS_DEGRADED < STATUS_DOWN,
               "the worse state is the larger");

/* ---- JSON ---- */

static void put_rtt(struct json_writer *w, const struct report_tunnel *t)
{
    double last = t->rtt_us ? (double)t->rtt_us / 1000 : NAN; /* NaN becomes null */
    double min = t->rtt_us_min ? (double)t->rtt_us_min / 1000 : last;
    double max = t->rtt_us_max ? (double)t->rtt_us_max / 1000 : last;
    json_open_object(w, "rtt_ms");
    json_put_double(w, "avg", last);
    json_put_double(w, "min", min < last ? min : last);
    json_put_double(w, "max", max > last ? max : last);
    json_close(w);
}

/* Rates over the last report's interval; 0 once it is old. */
static void put_rates(struct json_writer *w, const struct end *end, const struct pack_tunnel *p)
{
    static const struct {
        const char *name;
        enum pack_tunnel_counter bytes;
    } rates[] = {{"goodput_tx_bps", TUNNEL_TX_BYTES},
                 {"goodput_rx_bps", TUNNEL_RX_BYTES},
                 {"wire_tx_bps", TUNNEL_WIRE_TX_BYTES},
                 {"wire_rx_bps", TUNNEL_WIRE_RX_BYTES}};
    uint64_t probes = p ? (uint64_t)p->probes_lost + p->probes_answered : 0;
    if (probes && !end->last.stale)
        json_put_double(w, "loss_ratio", (double)p->probes_lost / (double)probes);
    else
        json_put_null(w, "loss_ratio");
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double bits = p ? (double)p->counters[rates[i].bytes] * 8 : 0;
        bool known = end->last.row.ms && !end->last.stale;
        json_put_double(w, rates[i].name, known ? bits * 1000 / end->last.row.ms : 0);
    }
}

static void put_end(struct json_writer *w, const struct end *end, const struct report_tunnel *t,
                    int64_t now)
{
    const struct pack_tunnel *p = last_tunnel(&end->last, &end->link->link_id, t->tunnel);
    bool stale = end->last.stale;
    json_open_object(w, NULL);
    json_put_id(w, "gateway_id", &end->gateway);
    status_json_seen(w, end->last.observed_at, now);
    json_put_str(w, "state", stale ? "unknown" : dp_tunnel_state_name(t->state));
    json_put_str(w, "reason", stale ? "its report is old" : dp_tunnel_reason_name(t->reason));
    json_put_uint(w, "port", t->port);
    json_put_uint(w, "worker", t->worker);
    if (t->mtu)
        json_put_uint(w, "mtu", t->mtu);
    else
        json_put_null(w, "mtu");
    put_rtt(w, t);
    put_rates(w, end, p);
    json_put_uint(w, "tx_packets", t->tx_packets);
    json_put_uint(w, "rx_packets", t->rx_packets);
    json_put_uint(w, "tx_bytes", t->tx_bytes);
    json_put_uint(w, "rx_bytes", t->rx_bytes);
    json_close(w);
}

static void put_tunnels(struct json_writer *w, const struct end ends[2], int64_t now)
{
    json_open_array(w, "items");
    for (unsigned number = 0; number < HW_TUNNELS_PER_LINK_MAX; number++) {
        const struct report_tunnel *at[2] = {tunnel_of(&ends[0], number),
                                             tunnel_of(&ends[1], number)};
        if (!at[0] && !at[1])
            continue;
        struct status s = judge(ends, number, now);
        json_open_object(w, NULL);
        json_put_uint(w, "tunnel", number);
        status_json_put(w, &s, now);
        json_open_array(w, "ends");
        for (int i = 0; i < 2; i++)
            if (at[i])
                put_end(w, &ends[i], at[i], now);
        json_close(w);
        json_close(w);
    }
    json_close(w);
    json_put_null(w, "next_cursor");
}

/* GET /api/v1/links/{id}/tunnels */
int tunnels_list(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    struct end ends[2] = {{.known = false}, {.known = false}};
    struct store_link l;
    struct hw_id id;
    struct db *db;
    int rc = http_request_param_id(req, 0, &id, e);
    rc = rc ? rc : store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = store_link_get(db, &id, &l, e);
    rc = rc ? rc : read_end(db, &l.gateway_a_id, &id, &ends[0], e);
    rc = rc ? rc : read_end(db, &l.gateway_b_id, &id, &ends[1], e);
    if (!rc) {
        struct json_writer w;
        json_writer_init(&w);
        put_tunnels(&w, ends, store_now(db));
        http_response_json(res, 200, json_finish(&w, NULL));
    }
    store_read_end(db);
    last_done(&ends[0].last);
    last_done(&ends[1].last);
    return rc;
}
