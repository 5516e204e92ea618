#include "controller/telemetry/rollup.h"
#include "common/dp_proto.h"
#include "common/model/report.h"
#include <stdlib.h>
#include <string.h>

/* Time by which each gauge has been known so far. */
struct rollup_link {
    double ms[LINK_GAUGES];
};
struct rollup_tunnel {
    double ms[TUNNEL_GAUGES];
};

void rollup_done(struct rollup *u)
{
    pack_row_done(&u->row);
    free(u->links);
    free(u->tunnels);
    *u = (struct rollup){0};
}

/* ---- values ---- */

/* `known` is how long the average so far was known. */
static void add_gauge(struct gauge *to, double *known, const struct gauge *g, double ms)
{
    if (isnan(g->avg))
        return;
    if (*known == 0) {
        *to = *g;
    } else {
        to->avg = (float)((to->avg * *known + g->avg * ms) / (*known + ms));
        to->min = g->min < to->min ? g->min : to->min;
        to->max = g->max > to->max ? g->max : to->max;
    }
    *known += ms;
}

static void add_gauges(struct gauge *to, double *known, const struct gauge *g, size_t n, double ms)
{
    for (size_t i = 0; i < n; i++)
        add_gauge(&to[i], &known[i], &g[i], ms);
}

static void unknown(struct gauge *g, size_t n)
{
    for (size_t i = 0; i < n; i++)
        g[i] = GAUGE_UNKNOWN;
}

static void add_counters(uint64_t *to, const uint64_t *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(to[i], c[i], &to[i]))
            to[i] = UINT64_MAX;
}

static uint32_t add32(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint16_t smaller(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

static uint16_t larger(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

/* 0 is no MTU but an unknown one. */
static uint16_t smaller_mtu(uint16_t a, uint16_t b)
{
    return a && b ? smaller(a, b) : larger(a, b);
}

/* Of which of two states nobody wants to hear less. */
static uint8_t worse_link(uint8_t a, uint8_t b)
{
    static const uint8_t badness[] = {[REPORT_LINK_UP] = 0,
                                      [REPORT_LINK_DISABLED] = 1,
                                      [REPORT_LINK_DEGRADED] = 2,
                                      [REPORT_LINK_DOWN] = 3,
                                      [REPORT_LINK_NO_KEYS] = 4};
    uint8_t x = a < sizeof badness ? badness[a] : 5, y = b < sizeof badness ? badness[b] : 5;
    return x >= y ? a : b;
}

static uint8_t worse_tunnel(uint8_t a, uint8_t b)
{
    static const uint8_t badness[] = {
        [DP_TUNNEL_UP] = 0, [DP_TUNNEL_PROBING] = 1, [DP_TUNNEL_NO_SA] = 2, [DP_TUNNEL_DOWN] = 3};
    uint8_t x = a < sizeof badness ? badness[a] : 4, y = b < sizeof badness ? badness[b] : 4;
    return x >= y ? a : b;
}

/* ---- records ---- */

/* The array with room for one more element than the n that it has. NULL: out of memory, and the old
 * one stands. */
static void *room(void *array, size_t n, size_t size)
{
    if (n & (n - 1)) /* was made at the last power of two */
        return array;
    return reallocarray(array, n ? 2 * n : 1, size);
}

static void add_gateway(struct rollup *u, const struct pack_row *r, double ms)
{
    struct pack_gateway *to = &u->row.gateway;
    const struct pack_gateway *g = &r->gateway;
    bool first = u->row.reports == 0;
    if (first)
        unknown(to->gauges, GATEWAY_GAUGES);
    add_gauges(to->gauges, u->gateway_ms, g->gauges, GATEWAY_GAUGES, ms);
    add_counters(to->counters, g->counters, GATEWAY_COUNTERS);
    to->links_up = first ? g->links_up : smaller(to->links_up, g->links_up);
    to->tunnels_up = first ? g->tunnels_up : smaller(to->tunnels_up, g->tunnels_up);
    to->links = larger(to->links, g->links);
    to->tunnels = larger(to->tunnels, g->tunnels);
    add_counters(u->row.drops, r->drops, DROP_COUNT);
}

/* The link's index in the rollup; HW_LINKS_MAX: it holds as many as it can; −1: out of memory. */
static int take_link(struct rollup *u, const struct pack_link *l)
{
    for (size_t i = 0; i < u->row.n_links; i++)
        if (id_equal(&u->row.links[i].id, &l->id))
            return (int)i;
    if (u->row.n_links == HW_LINKS_MAX)
        return HW_LINKS_MAX;
    struct pack_link *links = room(u->row.links, u->row.n_links, sizeof *links);
    if (!links)
        return -1;
    u->row.links = links;
    struct rollup_link *sums = room(u->links, u->row.n_links, sizeof *sums);
    if (!sums)
        return -1;
    u->links = sums;
    struct pack_link *to = &u->row.links[u->row.n_links];
    *to = (struct pack_link){
        .id = l->id, .state = l->state, .tunnels_up = l->tunnels_up, .mtu = l->mtu};
    unknown(to->gauges, LINK_GAUGES);
    u->links[u->row.n_links] = (struct rollup_link){0};
    return (int)u->row.n_links++;
}

static void add_link(struct rollup *u, size_t i, const struct pack_link *l, double ms)
{
    struct pack_link *to = &u->row.links[i];
    to->state = worse_link(to->state, l->state);
    to->suite = l->suite;
    to->tunnels_up = smaller(to->tunnels_up, l->tunnels_up);
    to->tunnels = larger(to->tunnels, l->tunnels);
    to->mtu = smaller_mtu(to->mtu, l->mtu);
    to->up_ms = add32(to->up_ms, l->up_ms);
    to->changes = add32(to->changes, l->changes);
    to->rekey_age = l->rekey_age;
    add_gauges(to->gauges, u->links[i].ms, l->gauges, LINK_GAUGES, ms);
    add_counters(to->counters, l->counters, LINK_COUNTERS);
}

/* The same of a tunnel, with HW_TUNNELS_MAX. */
static int take_tunnel(struct rollup *u, uint16_t link, const struct pack_tunnel *t)
{
    for (size_t i = 0; i < u->row.n_tunnels; i++)
        if (u->row.tunnels[i].link == link && u->row.tunnels[i].number == t->number)
            return (int)i;
    if (u->row.n_tunnels == HW_TUNNELS_MAX)
        return HW_TUNNELS_MAX;
    struct pack_tunnel *tunnels = room(u->row.tunnels, u->row.n_tunnels, sizeof *tunnels);
    if (!tunnels)
        return -1;
    u->row.tunnels = tunnels;
    struct rollup_tunnel *sums = room(u->tunnels, u->row.n_tunnels, sizeof *sums);
    if (!sums)
        return -1;
    u->tunnels = sums;
    struct pack_tunnel *to = &u->row.tunnels[u->row.n_tunnels];
    *to = (struct pack_tunnel){.link = link, .number = t->number, .state = t->state, .mtu = t->mtu};
    unknown(to->gauges, TUNNEL_GAUGES);
    u->tunnels[u->row.n_tunnels] = (struct rollup_tunnel){0};
    return (int)u->row.n_tunnels++;
}

static void add_tunnel(struct rollup *u, size_t i, const struct pack_tunnel *t, double ms)
{
    struct pack_tunnel *to = &u->row.tunnels[i];
    to->state = worse_tunnel(to->state, t->state);
    to->mtu = smaller_mtu(to->mtu, t->mtu);
    to->worker = t->worker;
    to->probes_lost = add32(to->probes_lost, t->probes_lost);
    to->probes_answered = add32(to->probes_answered, t->probes_answered);
    add_gauges(to->gauges, u->tunnels[i].ms, t->gauges, TUNNEL_GAUGES, ms);
    add_counters(to->counters, t->counters, TUNNEL_COUNTERS);
}

static void add_worker(struct rollup *u, const struct pack_worker *k, double ms)
{
    while (u->row.n_workers <= k->number) {
        u->row.workers[u->row.n_workers] =
            (struct pack_worker){.number = (uint8_t)u->row.n_workers, .busy = GAUGE_UNKNOWN};
        u->row.n_workers++;
    }
    struct pack_worker *to = &u->row.workers[k->number];
    to->tunnels = k->tunnels;
    add_gauge(&to->busy, &u->worker_ms[k->number], &k->busy, ms);
    add_counters(to->counters, k->counters, WORKER_COUNTERS);
}

/* Most tunnels stand at the same place in every row. */
static int add_tunnels(struct rollup *u, const struct pack_row *r, const uint16_t *link_of,
                       double ms)
{
    for (size_t i = 0; i < r->n_tunnels; i++) {
        const struct pack_tunnel *t = &r->tunnels[i];
        uint16_t link = link_of[t->link];
        int at = (int)i;
        if (link == HW_LINKS_MAX)
            continue;
        if (i >= u->row.n_tunnels || u->row.tunnels[i].link != link ||
            u->row.tunnels[i].number != t->number)
            at = take_tunnel(u, link, t);
        if (at < 0)
            return HW_ENOMEM;
        if (at < HW_TUNNELS_MAX)
            add_tunnel(u, (size_t)at, t, ms);
    }
    return 0;
}

int rollup_add(struct rollup *u, const struct pack_row *r, struct err *e)
{
    uint16_t link_of[HW_LINKS_MAX];
    /* A report without an interval still says what it counted, and how things stood. */
    double ms = r->ms ? r->ms : 1;
    add_gateway(u, r, ms);
    for (size_t i = 0; i < r->n_links; i++) {
        int at = take_link(u, &r->links[i]);
        if (at < 0)
            return err_set(e, HW_ENOMEM, "out of memory");
        link_of[i] = (uint16_t)at;
        if (at < HW_LINKS_MAX)
            add_link(u, (size_t)at, &r->links[i], ms);
    }
    if (add_tunnels(u, r, link_of, ms))
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < r->n_workers; i++)
        if (r->workers[i].number < HW_WORKERS_MAX)
            add_worker(u, &r->workers[i], ms);
    u->row.flags = u->row.reports ? u->row.flags & r->flags : r->flags;
    u->row.reports =
        (uint16_t)(u->row.reports > UINT16_MAX - r->reports ? UINT16_MAX
                                                            : u->row.reports + r->reports);
    u->row.ms = add32(u->row.ms, r->ms);
    return 0;
}

/* ---- order ---- */

struct place {
    struct hw_id id;
    uint16_t from;
};

static int by_id(const void *a, const void *b)
{
    return memcmp(((const struct place *)a)->id.b, ((const struct place *)b)->id.b,
                  sizeof(struct hw_id));
}

static int by_tunnel(const void *a, const void *b)
{
    const struct pack_tunnel *x = a, *y = b;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

int rollup_close(struct rollup *u, struct err *e)
{
    size_t n = u->row.n_links;
    struct place *order = calloc(n + 1, sizeof *order);
    struct pack_link *sorted = calloc(n + 1, sizeof *sorted);
    uint16_t *now_at = calloc(n + 1, sizeof *now_at);
    if (!order || !sorted || !now_at) {
        free(order);
        free(sorted);
        free(now_at);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < n; i++)
        order[i] = (struct place){.id = u->row.links[i].id, .from = (uint16_t)i};
    qsort(order, n, sizeof *order, by_id);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = u->row.links[order[i].from];
        now_at[order[i].from] = (uint16_t)i;
    }
    free(u->row.links);
    u->row.links = sorted;
    for (size_t i = 0; i < u->row.n_tunnels; i++)
        u->row.tunnels[i].link = now_at[u->row.tunnels[i].link];
    if (u->row.n_tunnels)
        qsort(u->row.tunnels, u->row.n_tunnels, sizeof *u->row.tunnels, by_tunnel);
    free(order);
    free(now_at);
    return 0;
}
