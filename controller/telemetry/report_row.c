#include "controller/telemetry/report_row.h"
#include <stdlib.h>
#include <string.h>

#define BUSY_MIN 0.01 /* mean of the workers: below it their imbalance says nothing */

struct making {
    const struct report *r;
    const struct counters *before;
    bool same_boot; /* the dataplane's counters go on from `before` */
    struct pack_row *out;
};

/* ---- gauges ---- */

static struct gauge flat(double v)
{
    return (struct gauge){(float)v, (float)v, (float)v};
}

static struct gauge of_spread(const struct report_spread *s)
{
    return s->known ? (struct gauge){(float)s->avg, (float)s->min, (float)s->max} : GAUGE_UNKNOWN;
}

/* The spread, or the average alone (an older agent); nothing without an interval. */
static struct gauge rate(const struct report *r, const struct report_spread *s, uint64_t avg)
{
    if (r->interval_seconds <= 0)
        return GAUGE_UNKNOWN;
    return s && s->known ? of_spread(s) : flat((double)avg);
}

static struct gauge of_ratio(const struct report_ratio *q)
{
    return q->known ? flat(q->value) : GAUGE_UNKNOWN;
}

static uint16_t cut16(uint64_t v)
{
    return v < UINT16_MAX ? (uint16_t)v : UINT16_MAX;
}

static uint32_t cut32(uint64_t v)
{
    return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

/* What a counter rose by; nothing when the report before isn't known. */
static uint64_t rise(const struct making *m, bool was_there, uint64_t before, uint64_t now)
{
    if (!m->before)
        return 0;
    return m->same_boot && was_there ? counters_rise(before, now) : now;
}

/* ---- tunnels ---- */

static void put_tunnel(const struct making *m, const struct report_link *l, uint16_t link,
                       const struct report_tunnel *t)
{
    struct pack_tunnel *to = &m->out->tunnels[m->out->n_tunnels];
    const struct counters_tunnel *was =
        m->before ? counters_tunnel(m->before, &l->link_id, t->tunnel, m->out->n_tunnels) : NULL;
    const uint64_t now[TUNNEL_COUNTERS] = {
        [TUNNEL_TX_BYTES] = t->tx_bytes,           [TUNNEL_RX_BYTES] = t->rx_bytes,
        [TUNNEL_TX_PACKETS] = t->tx_packets,       [TUNNEL_RX_PACKETS] = t->rx_packets,
        [TUNNEL_WIRE_TX_BYTES] = t->wire_tx_bytes, [TUNNEL_WIRE_RX_BYTES] = t->wire_rx_bytes};
    *to = (struct pack_tunnel){.link = link,
                               .number = (uint8_t)t->tunnel,
                               .state = (uint8_t)t->state,
                               .mtu = cut16(t->mtu),
                               .worker = cut16(t->worker),
                               .gauges = {GAUGE_UNKNOWN, GAUGE_UNKNOWN, GAUGE_UNKNOWN}};
    for (unsigned i = 0; i < TUNNEL_COUNTERS; i++)
        to->counters[i] = rise(m, was, was ? was->data[i] : 0, now[i]);
    to->probes_lost = cut32(rise(m, was, was ? was->lost : 0, t->probes_lost));
    to->probes_answered = cut32(rise(m, was, was ? was->answered : 0, t->probes_answered));
    double seconds = m->r->interval_seconds;
    if (seconds > 0 && m->before) {
        to->gauges[TUNNEL_GOODPUT_TX] = flat((double)to->counters[TUNNEL_TX_BYTES] * 8 / seconds);
        to->gauges[TUNNEL_GOODPUT_RX] = flat((double)to->counters[TUNNEL_RX_BYTES] * 8 / seconds);
    }
    if (t->rtt_us)
        to->gauges[TUNNEL_RTT_US] =
            (struct gauge){(float)t->rtt_us, (float)(t->rtt_us_min ? t->rtt_us_min : t->rtt_us),
                           (float)(t->rtt_us_max ? t->rtt_us_max : t->rtt_us)};
    m->out->n_tunnels++;
}

/* ---- links ---- */

static void link_gauges(const struct report *r, const struct report_link *l, struct pack_link *to)
{
    to->gauges[LINK_GOODPUT_TX] = rate(r, &l->goodput_tx, l->tx_bps);
    to->gauges[LINK_GOODPUT_RX] = rate(r, &l->goodput_rx, l->rx_bps);
    to->gauges[LINK_WIRE_TX] = rate(r, NULL, l->wire_tx_bps);
    to->gauges[LINK_WIRE_RX] = rate(r, NULL, l->wire_rx_bps);
    to->gauges[LINK_TX_PPS] = rate(r, NULL, l->tx_pps);
    to->gauges[LINK_RX_PPS] = rate(r, NULL, l->rx_pps);
    to->gauges[LINK_RTT_US] = of_spread(&l->rtt_us);
    to->gauges[LINK_IMBALANCE] = of_ratio(&l->imbalance);
}

static void put_link(const struct making *m, const struct report_link *l, size_t at)
{
    struct pack_row *row = m->out;
    uint16_t index = (uint16_t)row->n_links;
    struct pack_link *to = &row->links[row->n_links++];
    const struct counters_link *was = m->before ? counters_link(m->before, &l->link_id, at) : NULL;
    bool carries = l->state == REPORT_LINK_UP || l->state == REPORT_LINK_DEGRADED;
    *to = (struct pack_link){.id = l->link_id,
                             .state = (uint8_t)l->state,
                             .suite = (uint8_t)l->suite,
                             .tunnels = cut16(l->n_tunnels),
                             .mtu = cut16(l->mtu),
                             .up_ms = carries ? row->ms : 0,
                             .changes = was && was->state != l->state};
    if (l->rekeyed_at && m->r->time > l->rekeyed_at)
        to->rekey_age = cut32((uint64_t)(m->r->time - l->rekeyed_at));
    link_gauges(m->r, l, to);
    for (size_t i = 0; i < l->n_tunnels; i++) {
        put_tunnel(m, l, index, &l->tunnels[i]);
        const struct pack_tunnel *t = &row->tunnels[row->n_tunnels - 1];
        if (t->state == DP_TUNNEL_UP)
            to->tunnels_up++;
        to->counters[LINK_PROBES_LOST] += t->probes_lost;
        to->counters[LINK_PROBES_ANSWERED] += t->probes_answered;
        to->counters[LINK_TX_BYTES] += t->counters[TUNNEL_TX_BYTES];
        to->counters[LINK_RX_BYTES] += t->counters[TUNNEL_RX_BYTES];
        to->counters[LINK_TX_PACKETS] += t->counters[TUNNEL_TX_PACKETS];
        to->counters[LINK_RX_PACKETS] += t->counters[TUNNEL_RX_PACKETS];
    }
}

/* ---- gateway ---- */

static void put_workers(const struct making *m)
{
    struct pack_gateway *g = &m->out->gateway;
    double sum = 0, hottest = 0, peak = 0;
    for (size_t i = 0; i < m->r->n_workers; i++) {
        const struct report_worker *k = &m->r->workers[i];
        const uint64_t now[WORKER_COUNTERS] = {[WORKER_SEGMENTS_IN] = k->segments_in,
                                               [WORKER_SEGMENTS_OUT] = k->segments_out,
                                               [WORKER_HANDOFFS] = k->handoff_in};
        struct pack_worker *to = &m->out->workers[i];
        *to = (struct pack_worker){.number = (uint8_t)i,
                                   .tunnels = (uint8_t)(k->tunnels < 255 ? k->tunnels : 255),
                                   .busy = GAUGE_UNKNOWN};
        if (m->r->interval_seconds > 0)
            to->busy = (struct gauge){(float)k->busy_ratio, (float)k->busy_ratio,
                                      (float)k->busy_ratio_max};
        for (unsigned c = 0; c < WORKER_COUNTERS; c++)
            to->counters[c] = rise(m, true, m->before ? m->before->workers[i][c] : 0, now[c]);
        g->counters[GATEWAY_HANDOFFS] += to->counters[WORKER_HANDOFFS];
        sum += k->busy_ratio;
        hottest = k->busy_ratio > hottest ? k->busy_ratio : hottest;
        peak = k->busy_ratio_max > peak ? k->busy_ratio_max : peak;
    }
    size_t n = m->out->n_workers = m->r->n_workers;
    if (n == 0 || m->r->interval_seconds <= 0)
        return;
    g->gauges[GATEWAY_BUSY] = (struct gauge){(float)hottest, (float)hottest, (float)peak};
    if (sum / (double)n >= BUSY_MIN)
        g->gauges[GATEWAY_IMBALANCE] = flat(hottest * (double)n / sum);
}

static void put_gateway(const struct making *m)
{
    const struct report *r = m->r;
    const struct report_totals *t = &r->totals;
    struct pack_gateway *g = &m->out->gateway;
    g->gauges[GATEWAY_GOODPUT_TX] = rate(r, &t->goodput_tx, t->goodput_tx_bps);
    g->gauges[GATEWAY_GOODPUT_RX] = rate(r, &t->goodput_rx, t->goodput_rx_bps);
    g->gauges[GATEWAY_WIRE_TX] = rate(r, &t->wire_tx, t->wire_tx_bps);
    g->gauges[GATEWAY_WIRE_RX] = rate(r, &t->wire_rx, t->wire_rx_bps);
    g->gauges[GATEWAY_TX_PPS] = rate(r, NULL, t->tx_pps);
    g->gauges[GATEWAY_RX_PPS] = rate(r, NULL, t->rx_pps);
    g->gauges[GATEWAY_BUSY] = g->gauges[GATEWAY_IMBALANCE] = GAUGE_UNKNOWN;
    g->gauges[GATEWAY_CONNTRACK] =
        r->conntrack.known ? flat((double)r->conntrack.entries) : GAUGE_UNKNOWN;
    put_workers(m);
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++) {
        m->out->drops[i] = rise(m, true, m->before ? m->before->drops[i] : 0, r->drops[i]);
        g->counters[GATEWAY_DROPS] += m->out->drops[i];
    }
}

/* Sums of what the tunnels carried: a link that is gone doesn't make them fall. */
static void add_up(struct pack_row *row)
{
    struct pack_gateway *g = &row->gateway;
    for (unsigned c = 0; c < TUNNEL_COUNTERS; c++)
        for (size_t i = 0; i < row->n_tunnels; i++)
            g->counters[c] += row->tunnels[i].counters[c];
    for (size_t i = 0; i < row->n_links; i++) {
        const struct pack_link *l = &row->links[i];
        if (l->state == REPORT_LINK_DISABLED)
            continue;
        g->links++;
        if (l->state == REPORT_LINK_UP || l->state == REPORT_LINK_DEGRADED)
            g->links_up++;
        g->tunnels = cut16((uint64_t)g->tunnels + l->tunnels);
        g->tunnels_up = cut16((uint64_t)g->tunnels_up + l->tunnels_up);
    }
}
_Static_assert((int)GATEWAY_TX_BYTES == TUNNEL_TX_BYTES &&
                   (int)GATEWAY_WIRE_RX_BYTES == TUNNEL_WIRE_RX_BYTES,
               "a gateway's counters begin as a tunnel's");

static int by_id(const void *a, const void *b)
{
    const struct report_link *x = *(const struct report_link *const *)a,
                             *y = *(const struct report_link *const *)b;
    return memcmp(x->link_id.b, y->link_id.b, sizeof x->link_id.b);
}

int report_row_make(const struct report *r, const struct counters *before,
                    bool (*own)(const void *arg, const struct hw_id *link), const void *arg,
                    struct pack_row *out, struct err *e)
{
    struct pack_row row = {.flags = r->dataplane.connected ? PACK_CONNECTED : 0,
                           .reports = 1,
                           .ms = cut32((uint64_t)(r->interval_seconds * 1000))};
    if (before && id_is_zero(&before->boot)) /* never saw a dataplane */
        before = NULL;
    struct making m = {.r = r,
                       .before = before,
                       .same_boot = before && id_equal(&before->boot, &r->dataplane.boot_id),
                       .out = &row};
    size_t tunnels = 0, n = 0;
    const struct report_link **links = calloc(r->n_links + 1, sizeof *links);
    for (size_t i = 0; links && i < r->n_links; i++) {
        if (!own(arg, &r->links[i].link_id))
            continue;
        links[n++] = &r->links[i];
        tunnels += r->links[i].n_tunnels;
    }
    row.links = calloc(n + 1, sizeof *row.links);
    row.tunnels = calloc(tunnels + 1, sizeof *row.tunnels);
    if (!links || !row.links || !row.tunnels) {
        free(links);
        pack_row_done(&row);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    qsort(links, n, sizeof *links, by_id);
    put_gateway(&m);
    for (size_t i = 0; i < n; i++)
        put_link(&m, links[i], (size_t)(links[i] - r->links));
    free(links);
    add_up(&row);
    *out = row;
    return 0;
}
