#include "controller/telemetry/metric.h"
#include <string.h>

enum other { TUNNELS_UP, TUNNELS_TOTAL, LOSS, MTU, UP_RATIO };

#define GATEWAY(name, unit, form, index)                                                           \
    {                                                                                              \
        METRIC_GATEWAY, name, unit, form, index, 1                                                 \
    }
#define LINK(name, unit, form, index)                                                              \
    {                                                                                              \
        METRIC_LINK, name, unit, form, index, 1                                                    \
    }
#define TUNNEL(name, unit, form, index)                                                            \
    {                                                                                              \
        METRIC_TUNNEL, name, unit, form, index, 1                                                  \
    }

static const struct metric metrics[] = {
    GATEWAY("goodput_tx_bps", "bit/s", METRIC_GAUGE, GATEWAY_GOODPUT_TX),
    GATEWAY("goodput_rx_bps", "bit/s", METRIC_GAUGE, GATEWAY_GOODPUT_RX),
    GATEWAY("wire_tx_bps", "bit/s", METRIC_GAUGE, GATEWAY_WIRE_TX),
    GATEWAY("wire_rx_bps", "bit/s", METRIC_GAUGE, GATEWAY_WIRE_RX),
    GATEWAY("tx_pps", "packets/s", METRIC_GAUGE, GATEWAY_TX_PPS),
    GATEWAY("rx_pps", "packets/s", METRIC_GAUGE, GATEWAY_RX_PPS),
    GATEWAY("tx_bytes", "bytes", METRIC_COUNTER, GATEWAY_TX_BYTES),
    GATEWAY("rx_bytes", "bytes", METRIC_COUNTER, GATEWAY_RX_BYTES),
    GATEWAY("tx_packets", "packets", METRIC_COUNTER, GATEWAY_TX_PACKETS),
    GATEWAY("rx_packets", "packets", METRIC_COUNTER, GATEWAY_RX_PACKETS),
    GATEWAY("wire_tx_bytes", "bytes", METRIC_COUNTER, GATEWAY_WIRE_TX_BYTES),
    GATEWAY("wire_rx_bytes", "bytes", METRIC_COUNTER, GATEWAY_WIRE_RX_BYTES),
    GATEWAY("drops", "packets", METRIC_COUNTER, GATEWAY_DROPS),
    GATEWAY("handoffs", "packets", METRIC_COUNTER, GATEWAY_HANDOFFS),
    GATEWAY("busy_ratio", "ratio", METRIC_GAUGE, GATEWAY_BUSY),
    GATEWAY("imbalance_ratio", "ratio", METRIC_GAUGE, GATEWAY_IMBALANCE),
    GATEWAY("conntrack_entries", "count", METRIC_GAUGE, GATEWAY_CONNTRACK),
    GATEWAY("tunnels_up", "count", METRIC_OTHER, TUNNELS_UP),
    GATEWAY("tunnels_total", "count", METRIC_OTHER, TUNNELS_TOTAL),

    LINK("goodput_tx_bps", "bit/s", METRIC_GAUGE, LINK_GOODPUT_TX),
    LINK("goodput_rx_bps", "bit/s", METRIC_GAUGE, LINK_GOODPUT_RX),
    LINK("wire_tx_bps", "bit/s", METRIC_GAUGE, LINK_WIRE_TX),
    LINK("wire_rx_bps", "bit/s", METRIC_GAUGE, LINK_WIRE_RX),
    LINK("tx_pps", "packets/s", METRIC_GAUGE, LINK_TX_PPS),
    LINK("rx_pps", "packets/s", METRIC_GAUGE, LINK_RX_PPS),
    LINK("tx_bytes", "bytes", METRIC_COUNTER, LINK_TX_BYTES),
    LINK("rx_bytes", "bytes", METRIC_COUNTER, LINK_RX_BYTES),
    LINK("tx_packets", "packets", METRIC_COUNTER, LINK_TX_PACKETS),
    LINK("rx_packets", "packets", METRIC_COUNTER, LINK_RX_PACKETS),
    {METRIC_LINK, "rtt_ms", "ms", METRIC_GAUGE, LINK_RTT_US, 1e-3},
    LINK("imbalance_ratio", "ratio", METRIC_GAUGE, LINK_IMBALANCE),
    LINK("loss_ratio", "ratio", METRIC_OTHER, LOSS),
    LINK("mtu", "bytes", METRIC_OTHER, MTU),
    LINK("tunnels_up", "count", METRIC_OTHER, TUNNELS_UP),
    LINK("tunnels_total", "count", METRIC_OTHER, TUNNELS_TOTAL),
    LINK("up_ratio", "ratio", METRIC_OTHER, UP_RATIO),

    TUNNEL("goodput_tx_bps", "bit/s", METRIC_GAUGE, TUNNEL_GOODPUT_TX),
    TUNNEL("goodput_rx_bps", "bit/s", METRIC_GAUGE, TUNNEL_GOODPUT_RX),
    TUNNEL("tx_bytes", "bytes", METRIC_COUNTER, TUNNEL_TX_BYTES),
    TUNNEL("rx_bytes", "bytes", METRIC_COUNTER, TUNNEL_RX_BYTES),
    TUNNEL("tx_packets", "packets", METRIC_COUNTER, TUNNEL_TX_PACKETS),
    TUNNEL("rx_packets", "packets", METRIC_COUNTER, TUNNEL_RX_PACKETS),
    TUNNEL("wire_tx_bytes", "bytes", METRIC_COUNTER, TUNNEL_WIRE_TX_BYTES),
    TUNNEL("wire_rx_bytes", "bytes", METRIC_COUNTER, TUNNEL_WIRE_RX_BYTES),
    {METRIC_TUNNEL, "rtt_ms", "ms", METRIC_GAUGE, TUNNEL_RTT_US, 1e-3},
    TUNNEL("loss_ratio", "ratio", METRIC_OTHER, LOSS),
    TUNNEL("mtu", "bytes", METRIC_OTHER, MTU),

    {METRIC_WORKER, "busy_ratio", "ratio", METRIC_GAUGE, 0, 1},
    {METRIC_WORKER, "handoffs", "packets", METRIC_COUNTER, WORKER_HANDOFFS, 1},
};
#define METRICS (sizeof metrics / sizeof *metrics)

const struct metric *metric_find(enum metric_kind kind, const char *name)
{
    for (size_t i = 0; i < METRICS; i++)
        if (metrics[i].kind == kind && strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}

bool metric_exists(const char *name)
{
    for (int kind = 0; kind < METRIC_KINDS; kind++)
        if (metric_find((enum metric_kind)kind, name))
            return true;
    return false;
}

static struct metric_value flat(double v)
{
    return (struct metric_value){v, v, v};
}

static struct metric_value of_gauge(const struct gauge *g, double scale)
{
    return (struct metric_value){(double)g->avg * scale, (double)g->min * scale,
                                 (double)g->max * scale};
}

static double part(uint64_t some, uint64_t all)
{
    return all ? (double)some / (double)all : NAN;
}

static struct metric_value of_gateway(const struct metric *m, const struct pack_row *row)
{
    const struct pack_gateway *g = &row->gateway;
    if (m->form == METRIC_GAUGE)
        return of_gauge(&g->gauges[m->index], m->scale);
    if (m->form == METRIC_COUNTER)
        return flat((double)g->counters[m->index]);
    return flat(m->index == TUNNELS_UP ? g->tunnels_up : g->tunnels);
}

static struct metric_value of_link(const struct metric *m, const struct pack_row *row,
                                   const struct pack_link *l)
{
    const uint64_t *c = l->counters;
    if (m->form == METRIC_GAUGE)
        return of_gauge(&l->gauges[m->index], m->scale);
    if (m->form == METRIC_COUNTER)
        return flat((double)c[m->index]);
    switch (m->index) {
    case TUNNELS_UP:
        return flat(l->tunnels_up);
    case TUNNELS_TOTAL:
        return flat(l->tunnels);
    case MTU:
        return flat(l->mtu ? l->mtu : NAN);
    case UP_RATIO:
        return flat(part(l->up_ms, row->ms));
    default:
        return flat(part(c[LINK_PROBES_LOST], c[LINK_PROBES_LOST] + c[LINK_PROBES_ANSWERED]));
    }
}

static struct metric_value of_tunnel(const struct metric *m, const struct pack_tunnel *t)
{
    if (m->form == METRIC_GAUGE)
        return of_gauge(&t->gauges[m->index], m->scale);
    if (m->form == METRIC_COUNTER)
        return flat((double)t->counters[m->index]);
    if (m->index == MTU)
        return flat(t->mtu ? t->mtu : NAN);
    return flat(part(t->probes_lost, (uint64_t)t->probes_lost + t->probes_answered));
}

static const struct pack_link *find_link(const struct pack_row *row, const struct hw_id *id)
{
    for (size_t i = 0; i < row->n_links; i++)
        if (id_equal(&row->links[i].id, id))
            return &row->links[i];
    return NULL;
}

struct metric_value metric_value(const struct metric *m, const struct metric_object *o,
                                 const struct pack_row *row)
{
    if (o->kind == METRIC_GATEWAY)
        return of_gateway(m, row);
    if (o->kind == METRIC_WORKER) {
        if (o->number >= row->n_workers)
            return flat(NAN);
        const struct pack_worker *k = &row->workers[o->number];
        return m->form == METRIC_GAUGE ? of_gauge(&k->busy, 1)
                                       : flat((double)k->counters[m->index]);
    }
    const struct pack_link *l = find_link(row, &o->id);
    if (!l)
        return flat(NAN);
    if (o->kind == METRIC_LINK)
        return of_link(m, row, l);
    for (size_t i = 0; i < row->n_tunnels; i++)
        if (&row->links[row->tunnels[i].link] == l && row->tunnels[i].number == o->number)
            return of_tunnel(m, &row->tunnels[i]);
    return flat(NAN);
}
