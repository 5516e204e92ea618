#include "agent/control/telemetry_window.h"
#include "common/clock.h"
#include <stdlib.h>

#define IMBALANCE_MIN_BPS 1000000u /* below it the largest tunnel says nothing */

/* Smallest and largest of the samples so far. */
struct spread {
    unsigned n;
    double min, max;
};

/* What came in by, or went out on, something since the interval began. */
struct sums {
    uint64_t tx, rx, tx_wire, rx_wire, tx_packets, rx_packets, answered, lost, rtt_sum;
};

struct slot {
    bool used;
    uint16_t tunnel;
    unsigned link; /* index into links[] */
    struct hw_id link_id;
    struct window_reading last;
    struct sums sums;
    struct spread rtt;
    uint64_t rtt_min, rtt_max; /* of the closed interval */
};

struct link {
    struct hw_id id;
    unsigned slots; /* 0: the entry is free */
    uint64_t tx_second, rx_second;
    struct spread tx, rx, rtt;
    struct sums sums; /* only while closing */
    uint64_t largest; /* tunnel, only while closing */
    struct window_link closed;
};

struct worker {
    bool seen;
    uint64_t last_ns, busy_ns;
    double max;
    double closed, closed_max;
};

struct window {
    unsigned n_slots, n_workers, n_links;
    struct slot *slots;
    struct link *links;
    struct worker workers[HW_WORKERS_MAX];
    uint64_t begin_ns, last_ns, now_ns;
    unsigned samples;
    struct sums sums, second;
    struct spread goodput_tx, goodput_rx, wire_tx, wire_rx;
    struct {
        uint64_t ns;
        unsigned samples;
        struct report_totals totals;
    } closed;
};

uint64_t window_rate(uint64_t before, uint64_t now, uint64_t ns)
{
    if (now < before || ns == 0)
        return 0;
    return (uint64_t)((double)(now - before) * (double)NS_PER_S / (double)ns);
}

static uint64_t bps(uint64_t bytes, uint64_t ns)
{
    return ns ? (uint64_t)((double)bytes * 8.0 * (double)NS_PER_S / (double)ns) : 0;
}

static void spread_add(struct spread *s, double v)
{
    if (s->n == 0 || v < s->min)
        s->min = v;
    if (s->n == 0 || v > s->max)
        s->max = v;
    s->n++;
}

/* The average comes from counters over the whole interval; rounding must not put it outside. */
static struct report_spread spread_close(struct spread *s, double avg)
{
    struct report_spread out = {0};
    if (s->n)
        out = (struct report_spread){.known = true,
                                     .avg = avg,
                                     .min = s->min < avg ? s->min : avg,
                                     .max = s->max > avg ? s->max : avg};
    *s = (struct spread){0};
    return out;
}

int window_new(unsigned slots, unsigned workers, struct window **out, struct err *e)
{
    struct window *w = calloc(1, sizeof *w);
    struct slot *s = calloc((size_t)slots + 1, sizeof *s);
    if (!w || !s) {
        free(w);
        free(s);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    w->n_slots = slots;
    w->n_workers = workers < HW_WORKERS_MAX ? workers : HW_WORKERS_MAX;
    w->slots = s;
    *out = w;
    return 0;
}

void window_free(struct window *w)
{
    if (!w)
        return;
    free(w->slots);
    free(w->links);
    free(w);
}

/* ---- sampling ---- */

bool window_sample(struct window *w, uint64_t now_ns)
{
    if (w->last_ns && now_ns - w->last_ns < WINDOW_MIN_NS)
        return false;
    w->now_ns = now_ns;
    w->second = (struct sums){0};
    return true;
}

static uint64_t since_last(const struct window *w)
{
    return w->last_ns ? w->now_ns - w->last_ns : 0;
}

static struct link *find_link(const struct window *w, const struct hw_id *id)
{
    for (unsigned i = 0; i < w->n_links; i++)
        if (w->links[i].slots && id_equal(&w->links[i].id, id))
            return &w->links[i];
    return NULL;
}

/* An entry for the link: its own, a free one, or a new one. NULL when out of memory. */
static struct link *take_link(struct window *w, const struct hw_id *id)
{
    struct link *l = find_link(w, id);
    for (unsigned i = 0; !l && i < w->n_links; i++)
        if (w->links[i].slots == 0)
            l = &w->links[i];
    if (!l) {
        struct link *more = realloc(w->links, (w->n_links + 1) * sizeof *more);
        if (!more)
            return NULL;
        w->links = more;
        l = &more[w->n_links++];
        l->slots = 0;
    }
    if (l->slots == 0)
        *l = (struct link){.id = *id};
    return l;
}

static void leave_slot(struct window *w, struct slot *s)
{
    if (!s->used)
        return;
    w->links[s->link].slots--;
    *s = (struct slot){0};
}

/* Another tunnel than before: what its counters say until now happened before we looked. */
static void enter_slot(struct window *w, struct slot *s, const struct window_reading *r)
{
    leave_slot(w, s);
    struct link *l = take_link(w, &r->link);
    if (!l)
        return;
    l->slots++;
    *s = (struct slot){.used = true,
                       .tunnel = r->tunnel,
                       .link = (unsigned)(l - w->links),
                       .link_id = r->link,
                       .last = *r};
}

static uint64_t rise(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

static void add(struct sums *to, const struct sums *d)
{
    to->tx += d->tx;
    to->rx += d->rx;
    to->tx_wire += d->tx_wire;
    to->rx_wire += d->rx_wire;
    to->tx_packets += d->tx_packets;
    to->rx_packets += d->rx_packets;
    to->answered += d->answered;
    to->lost += d->lost;
    to->rtt_sum += d->rtt_sum;
}

void window_slot(struct window *w, unsigned i, const struct window_reading *r)
{
    struct slot *s = &w->slots[i];
    if (!r) {
        leave_slot(w, s);
        return;
    }
    if (!s->used || s->tunnel != r->tunnel || !id_equal(&s->link_id, &r->link))
        enter_slot(w, s, r);
    if (!s->used)
        return;
    const struct window_reading *b = &s->last;
    struct sums d = {.tx = rise(b->tx_bytes, r->tx_bytes),
                     .rx = rise(b->rx_bytes, r->rx_bytes),
                     .tx_wire = rise(b->tx_wire, r->tx_wire),
                     .rx_wire = rise(b->rx_wire, r->rx_wire),
                     .tx_packets = rise(b->tx_packets, r->tx_packets),
                     .rx_packets = rise(b->rx_packets, r->rx_packets),
                     .answered = rise(b->answered, r->answered),
                     .lost = rise(b->lost, r->lost),
                     .rtt_sum = rise(b->rtt_sum, r->rtt_sum)};
    struct link *l = &w->links[s->link];
    l->tx_second += d.tx;
    l->rx_second += d.rx;
    if (d.answered) {
        spread_add(&s->rtt, (double)r->rtt_last);
        spread_add(&l->rtt, (double)r->rtt_last);
    }
    add(&s->sums, &d);
    add(&w->second, &d);
    s->last = *r;
}

void window_worker(struct window *w, unsigned i, uint64_t busy_ns)
{
    struct worker *k = &w->workers[i];
    uint64_t ns = since_last(w), busy = k->seen ? rise(k->last_ns, busy_ns) : 0;
    if (ns) {
        double ratio = (double)busy / (double)ns;
        ratio = ratio < 1 ? ratio : 1; /* its clock may have been read a little later */
        k->max = ratio > k->max ? ratio : k->max;
        k->busy_ns += busy;
    }
    k->seen = true;
    k->last_ns = busy_ns;
}

void window_sample_end(struct window *w)
{
    uint64_t ns = since_last(w);
    for (unsigned i = 0; i < w->n_links; i++) {
        struct link *l = &w->links[i];
        if (ns && l->slots) {
            spread_add(&l->tx, (double)bps(l->tx_second, ns));
            spread_add(&l->rx, (double)bps(l->rx_second, ns));
        }
        l->tx_second = l->rx_second = 0;
    }
    if (ns) {
        spread_add(&w->goodput_tx, (double)bps(w->second.tx, ns));
        spread_add(&w->goodput_rx, (double)bps(w->second.rx, ns));
        spread_add(&w->wire_tx, (double)bps(w->second.tx_wire, ns));
        spread_add(&w->wire_rx, (double)bps(w->second.rx_wire, ns));
        add(&w->sums, &w->second);
        w->samples++;
    } else {
        w->begin_ns = w->now_ns;
    }
    w->last_ns = w->now_ns;
}

/* ---- closing ---- */

static void close_slot(struct window *w, struct slot *s)
{
    struct link *l = &w->links[s->link];
    uint64_t both = s->sums.tx + s->sums.rx;
    add(&l->sums, &s->sums);
    l->largest = both > l->largest ? both : l->largest;
    s->rtt_min = s->rtt.n ? (uint64_t)s->rtt.min : 0;
    s->rtt_max = s->rtt.n ? (uint64_t)s->rtt.max : 0;
    s->rtt = (struct spread){0};
    s->sums = (struct sums){0};
}

static void close_link(struct link *l, uint64_t ns)
{
    const struct sums *s = &l->sums;
    uint64_t probes = s->answered + s->lost, both = s->tx + s->rx;
    l->closed = (struct window_link){.tx_bps = bps(s->tx, ns),
                                     .rx_bps = bps(s->rx, ns),
                                     .wire_tx_bps = bps(s->tx_wire, ns),
                                     .wire_rx_bps = bps(s->rx_wire, ns),
                                     .tx_pps = window_rate(0, s->tx_packets, ns),
                                     .rx_pps = window_rate(0, s->rx_packets, ns)};
    l->closed.goodput_tx = spread_close(&l->tx, (double)l->closed.tx_bps);
    l->closed.goodput_rx = spread_close(&l->rx, (double)l->closed.rx_bps);
    if (s->answered)
        l->closed.rtt_us = spread_close(&l->rtt, (double)s->rtt_sum / (double)s->answered);
    if (probes)
        l->closed.loss = (struct report_ratio){true, (double)s->lost / (double)probes};
    if (both && bps(both, ns) >= IMBALANCE_MIN_BPS)
        l->closed.imbalance =
            (struct report_ratio){true, (double)l->largest * l->slots / (double)both};
    l->rtt = (struct spread){0};
    l->sums = (struct sums){0};
    l->largest = 0;
}

static void close_totals(struct window *w, uint64_t ns)
{
    const struct sums *s = &w->sums;
    struct report_totals *t = &w->closed.totals;
    *t = (struct report_totals){.goodput_tx_bps = bps(s->tx, ns),
                                .goodput_rx_bps = bps(s->rx, ns),
                                .wire_tx_bps = bps(s->tx_wire, ns),
                                .wire_rx_bps = bps(s->rx_wire, ns),
                                .tx_pps = window_rate(0, s->tx_packets, ns),
                                .rx_pps = window_rate(0, s->rx_packets, ns)};
    t->goodput_tx = spread_close(&w->goodput_tx, (double)t->goodput_tx_bps);
    t->goodput_rx = spread_close(&w->goodput_rx, (double)t->goodput_rx_bps);
    t->wire_tx = spread_close(&w->wire_tx, (double)t->wire_tx_bps);
    t->wire_rx = spread_close(&w->wire_rx, (double)t->wire_rx_bps);
    w->sums = (struct sums){0};
}

void window_close(struct window *w)
{
    uint64_t ns = w->last_ns - w->begin_ns;
    if (ns < WINDOW_MIN_NS)
        return;
    for (unsigned i = 0; i < w->n_slots; i++)
        if (w->slots[i].used)
            close_slot(w, &w->slots[i]);
    for (unsigned i = 0; i < w->n_links; i++)
        if (w->links[i].slots)
            close_link(&w->links[i], ns);
    for (unsigned i = 0; i < w->n_workers; i++) {
        struct worker *k = &w->workers[i];
        double ratio = (double)k->busy_ns / (double)ns;
        k->closed = ratio < k->max ? ratio : k->max;
        k->closed_max = k->max;
        k->busy_ns = 0;
        k->max = 0;
    }
    close_totals(w, ns);
    w->closed.ns = ns;
    w->closed.samples = w->samples;
    w->samples = 0;
    w->begin_ns = w->last_ns;
}

/* ---- figures ---- */

void window_totals(const struct window *w, struct report *r)
{
    r->interval_seconds = (double)w->closed.ns / (double)NS_PER_S;
    r->samples = w->closed.samples;
    r->totals = w->closed.totals;
    r->n_workers = w->n_workers;
    for (unsigned i = 0; i < w->n_workers; i++)
        r->workers[i] = (struct report_worker){.busy_ratio = w->workers[i].closed,
                                               .busy_ratio_max = w->workers[i].closed_max};
}

bool window_link(const struct window *w, const struct hw_id *id, struct window_link *out)
{
    const struct link *l = find_link(w, id);
    if (l)
        *out = l->closed;
    return l != NULL;
}

void window_rtt(const struct window *w, unsigned slot, uint64_t *min, uint64_t *max)
{
    *min = w->slots[slot].rtt_min;
    *max = w->slots[slot].rtt_max;
}
