#include "agent/control/telemetry.h"
#include "common/clock.h"
#include "common/dp_proto.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MIN_NS (500 * NS_PER_MS)

/* Bytes of each slot at the last look, for the links' rates. */
struct slot {
    struct hw_id link;
    uint16_t tunnel;
    bool used;
    uint64_t tx, rx;         /* at the last look */
    uint64_t tx_bps, rx_bps; /* between the last two */
};

struct telemetry {
    const unsigned char *map; /* NULL: no dataplane */
    size_t map_len;
    struct dp_stats_header h; /* checked against map_len */
    struct telemetry_sample last;
    struct telemetry_rates rates;
    struct slot *slots;
    struct {
        uint64_t beat, since_ns;
    } hearts[HW_WORKERS_MAX];
};

uint64_t telemetry_bps(uint64_t before, uint64_t now, uint64_t ns)
{
    if (now < before || ns == 0)
        return 0;
    return (uint64_t)((double)(now - before) * 8.0 * (double)NS_PER_S / (double)ns);
}

struct telemetry_rates telemetry_rates(const struct telemetry_sample *before,
                                       const struct telemetry_sample *now)
{
    struct telemetry_rates r = {.interval_s = 0, .workers = now->workers};
    if (!id_equal(&before->boot, &now->boot) || now->mono_ns <= before->mono_ns ||
        before->workers != now->workers)
        return r;
    uint64_t ns = now->mono_ns - before->mono_ns;
    r.interval_s = (double)ns / (double)NS_PER_S;
    r.goodput_tx_bps = telemetry_bps(before->tx_inner, now->tx_inner, ns);
    r.goodput_rx_bps = telemetry_bps(before->rx_inner, now->rx_inner, ns);
    r.wire_tx_bps = telemetry_bps(before->tx_wire, now->tx_wire, ns);
    r.wire_rx_bps = telemetry_bps(before->rx_wire, now->rx_wire, ns);
    for (unsigned i = 0; i < now->workers; i++) {
        uint64_t busy = now->busy_ns[i] - before->busy_ns[i];
        double ratio = now->busy_ns[i] < before->busy_ns[i] ? 0 : (double)busy / (double)ns;
        r.busy[i] = ratio < 1 ? ratio : 1;
    }
    return r;
}

int telemetry_new(struct telemetry **out, struct err *e)
{
    struct telemetry *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, HW_ENOMEM, "out of memory");
    *out = t;
    return 0;
}

static void detach(struct telemetry *t)
{
    if (t->map)
        (void)munmap((void *)(uintptr_t)t->map, t->map_len);
    free(t->slots);
    t->map = NULL;
    t->slots = NULL;
    t->last = (struct telemetry_sample){0};
    t->rates = (struct telemetry_rates){0};
    memset(t->hearts, 0, sizeof t->hearts);
}

void telemetry_free(struct telemetry *t)
{
    if (!t)
        return;
    detach(t);
    free(t);
}

/* A table of `n` entries of `stride` bytes, of which `need` are read, lies inside the file and is
 * aligned. */
static bool table_fits(uint32_t n, uint32_t offset, uint32_t stride, size_t need, size_t len)
{
    return offset % 8 == 0 && stride % 8 == 0 && stride >= need && offset <= len &&
           (uint64_t)n * stride <= len - offset;
}

static int judge(const struct dp_stats_header *h, size_t len, struct err *e)
{
    if (h->magic != DP_STATS_MAGIC || h->version != DP_STATS_VERSION ||
        h->workers > HW_WORKERS_MAX || h->tunnels > HW_TUNNELS_MAX ||
        !table_fits(h->workers, h->worker_offset, h->worker_stride, sizeof(struct dp_stats_worker),
                    len) ||
        !table_fits(h->tunnels, h->tunnel_offset, h->tunnel_stride, sizeof(struct dp_stats_tunnel),
                    len))
        return err_set(e, HW_EPROTO, "counters of the dataplane: layout not understood");
    return 0;
}

int telemetry_attach(struct telemetry *t, int fd, struct err *e)
{
    detach(t);
    if (fd < 0)
        return 0;
    struct stat st;
    if (fstat(fd, &st) < 0)
        return err_errno(e, errno, "counters of the dataplane");
    if (st.st_size < (off_t)sizeof t->h)
        return err_set(e, HW_EPROTO, "counters of the dataplane: file too short");
    size_t len = (size_t)st.st_size;
    void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return err_errno(e, errno, "counters of the dataplane");
    memcpy(&t->h, map, sizeof t->h);
    int rc = judge(&t->h, len, e);
    struct slot *slots = rc == 0 ? calloc(t->h.tunnels + 1, sizeof *slots) : NULL;
    if (!slots) {
        (void)munmap(map, len);
        return rc < 0 ? rc : err_set(e, HW_ENOMEM, "out of memory");
    }
    t->map = map;
    t->map_len = len;
    t->slots = slots;
    return 0;
}

static const struct dp_stats_worker *worker_at(const struct telemetry *t, unsigned i)
{
    return (const void *)(t->map + t->h.worker_offset + (size_t)i * t->h.worker_stride);
}

static const struct dp_stats_tunnel *tunnel_at(const struct telemetry *t, unsigned i)
{
    return (const void *)(t->map + t->h.tunnel_offset + (size_t)i * t->h.tunnel_stride);
}

/* The dataplane writes while we read: each field singly, whole. */
static uint64_t get(const uint64_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static bool in_use(const struct dp_stats_tunnel *s)
{
    return __atomic_load_n(&s->used, __ATOMIC_ACQUIRE) != 0;
}

/* Bytes of a slot since the last look become its rates; another tunnel in it begins anew. */
static void rate_slot(struct slot *slot, const struct dp_stats_tunnel *s, uint64_t ns)
{
    uint64_t tx = get(&s->tx_inner_bytes), rx = get(&s->rx_inner_bytes);
    bool same = slot->used && slot->tunnel == s->tunnel && id_equal(&slot->link, &s->link);
    *slot = (struct slot){.link = s->link,
                          .tunnel = s->tunnel,
                          .used = true,
                          .tx = tx,
                          .rx = rx,
                          .tx_bps = same ? telemetry_bps(slot->tx, tx, ns) : 0,
                          .rx_bps = same ? telemetry_bps(slot->rx, rx, ns) : 0};
}

static struct telemetry_sample take_sample(const struct telemetry *t, uint64_t now_ns)
{
    struct telemetry_sample sum = {.mono_ns = now_ns, .boot = t->h.boot, .workers = t->h.workers};
    for (unsigned i = 0; i < t->h.tunnels; i++) {
        const struct dp_stats_tunnel *s = tunnel_at(t, i);
        if (!in_use(s))
            continue;
        sum.tx_inner += get(&s->tx_inner_bytes);
        sum.rx_inner += get(&s->rx_inner_bytes);
        sum.tx_packets += get(&s->tx_packets);
        sum.rx_packets += get(&s->rx_packets);
        sum.tx_wire += get(&s->tx_wire_bytes);
        sum.rx_wire += get(&s->rx_wire_bytes);
    }
    for (unsigned i = 0; i < t->h.workers; i++)
        sum.busy_ns[i] = get(&worker_at(t, i)->busy_ns);
    return sum;
}

void telemetry_look(struct telemetry *t, uint64_t now_ns)
{
    if (!t->map || (t->last.mono_ns && now_ns - t->last.mono_ns < LOOK_MIN_NS))
        return;
    struct telemetry_sample now = take_sample(t, now_ns);
    uint64_t ns = t->last.mono_ns ? now_ns - t->last.mono_ns : 0;
    for (unsigned i = 0; i < t->h.tunnels; i++) {
        const struct dp_stats_tunnel *s = tunnel_at(t, i);
        if (in_use(s))
            rate_slot(&t->slots[i], s, ns);
        else
            t->slots[i].used = false;
    }
    t->rates = telemetry_rates(&t->last, &now);
    t->last = now;
}

void telemetry_fill(const struct telemetry *t, struct report *r)
{
    struct telemetry_sample now = {.mono_ns = 0};
    memset(r->drops, 0, sizeof r->drops);
    if (t->map) {
        now = take_sample(t, 0);
        for (unsigned i = 0; i < t->h.workers; i++)
            for (unsigned d = 0; d < DROP_COUNT; d++)
                r->drops[d] += get(&worker_at(t, i)->drops[d]);
    }
    r->interval_seconds = t->rates.interval_s;
    r->totals = (struct report_totals){.goodput_tx_bps = t->rates.goodput_tx_bps,
                                       .goodput_rx_bps = t->rates.goodput_rx_bps,
                                       .wire_tx_bps = t->rates.wire_tx_bps,
                                       .wire_rx_bps = t->rates.wire_rx_bps,
                                       .tx_packets = now.tx_packets,
                                       .rx_packets = now.rx_packets,
                                       .tx_bytes = now.tx_inner,
                                       .rx_bytes = now.rx_inner};
    r->n_workers = t->rates.workers;
    for (size_t i = 0; i < r->n_workers; i++)
        r->workers[i] = (struct report_worker){.busy_ratio = t->rates.busy[i],
                                               .busy_ratio_max = t->rates.busy[i]};
}

static void fill_tunnel(const struct dp_stats_tunnel *s, uint16_t port_base, unsigned offset,
                        struct report_tunnel *out)
{
    unsigned port = port_base + (offset + s->tunnel) % HW_PORTS_PER_GATEWAY;
    *out = (struct report_tunnel){.tunnel = s->tunnel,
                                  .state = __atomic_load_n(&s->state, __ATOMIC_RELAXED),
                                  .reason = __atomic_load_n(&s->reason, __ATOMIC_RELAXED),
                                  .port = (uint16_t)port,
                                  .rtt_us = get(&s->rtt_us_last),
                                  .tx_packets = get(&s->tx_packets),
                                  .tx_bytes = get(&s->tx_inner_bytes),
                                  .rx_packets = get(&s->rx_packets),
                                  .rx_bytes = get(&s->rx_inner_bytes),
                                  .probes_sent = get(&s->probes_sent),
                                  .probes_answered = get(&s->probes_answered),
                                  .probes_lost = get(&s->probes_lost)};
    if (out->state > DP_TUNNEL_DOWN)
        out->state = DP_TUNNEL_NO_SA;
    if (out->reason > DP_REASON_DISABLED)
        out->reason = DP_REASON_NONE;
}

static int tunnel_order(const void *a, const void *b)
{
    const struct report_tunnel *x = a, *y = b;
    return x->tunnel < y->tunnel ? -1 : x->tunnel > y->tunnel;
}

int telemetry_fill_link(const struct telemetry *t, const struct hw_id *link, uint16_t port_base,
                        unsigned offset, struct report_link *out, struct err *e)
{
    struct report_tunnel *tunnels = NULL;
    size_t n = 0;
    for (unsigned i = 0; t->map && i < t->h.tunnels && n < HW_TUNNELS_PER_LINK_MAX; i++) {
        const struct dp_stats_tunnel *s = tunnel_at(t, i);
        if (!in_use(s) || !id_equal(&s->link, link))
            continue;
        if (!tunnels)
            tunnels = calloc(HW_TUNNELS_PER_LINK_MAX, sizeof *tunnels);
        if (!tunnels)
            return err_set(e, HW_ENOMEM, "out of memory");
        fill_tunnel(s, port_base, offset, &tunnels[n++]);
        out->tx_bps += t->slots[i].used ? t->slots[i].tx_bps : 0;
        out->rx_bps += t->slots[i].used ? t->slots[i].rx_bps : 0;
    }
    if (n == 0)
        return err_set(e, HW_ENOTFOUND, "no tunnel of this link");
    qsort(tunnels, n, sizeof *tunnels, tunnel_order);
    out->tunnels = tunnels;
    out->n_tunnels = n;
    return 0;
}

int telemetry_still_worker(struct telemetry *t, uint64_t now_ns, uint64_t limit_ns)
{
    for (unsigned i = 0; t->map && i < t->h.workers; i++) {
        uint64_t beat = get(&worker_at(t, i)->heartbeat);
        if (beat != t->hearts[i].beat || t->hearts[i].since_ns == 0) {
            t->hearts[i].beat = beat;
            t->hearts[i].since_ns = now_ns;
        } else if (now_ns - t->hearts[i].since_ns >= limit_ns) {
            return (int)i;
        }
    }
    return -1;
}
