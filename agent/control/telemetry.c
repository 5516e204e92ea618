#include "agent/control/telemetry.h"
#include "agent/control/telemetry_window.h"
#include "common/clock.h"
#include "common/dp_proto.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct telemetry {
    const unsigned char *map; /* NULL: no dataplane */
    size_t map_len;
    struct dp_stats_header h; /* checked against map_len */
    struct window *window;    /* NULL: no dataplane */
    struct {
        uint64_t beat, since_ns;
    } hearts[HW_WORKERS_MAX];
};

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
    window_free(t->window);
    t->map = NULL;
    t->window = NULL;
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
    rc = rc ? rc : window_new(t->h.tunnels, t->h.workers, &t->window, e);
    if (rc) {
        (void)munmap(map, len);
        return rc;
    }
    t->map = map;
    t->map_len = len;
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

static struct window_reading read_slot(const struct dp_stats_tunnel *s)
{
    return (struct window_reading){.link = s->link,
                                   .tunnel = s->tunnel,
                                   .tx_bytes = get(&s->tx_inner_bytes),
                                   .rx_bytes = get(&s->rx_inner_bytes),
                                   .tx_wire = get(&s->tx_wire_bytes),
                                   .rx_wire = get(&s->rx_wire_bytes),
                                   .tx_packets = get(&s->tx_packets),
                                   .rx_packets = get(&s->rx_packets),
                                   .answered = get(&s->probes_answered),
                                   .lost = get(&s->probes_lost),
                                   .rtt_sum = get(&s->rtt_us_sum),
                                   .rtt_last = get(&s->rtt_us_last)};
}

void telemetry_sample(struct telemetry *t, uint64_t now_ns)
{
    if (!t->map || !window_sample(t->window, now_ns))
        return;
    for (unsigned i = 0; i < t->h.tunnels; i++) {
        const struct dp_stats_tunnel *s = tunnel_at(t, i);
        struct window_reading r = {0};
        bool used = in_use(s);
        if (used)
            r = read_slot(s);
        window_slot(t->window, i, used ? &r : NULL);
    }
    for (unsigned i = 0; i < t->h.workers; i++)
        window_worker(t->window, i, get(&worker_at(t, i)->busy_ns));
    window_sample_end(t->window);
}

void telemetry_close(struct telemetry *t, uint64_t now_ns)
{
    if (!t->map)
        return;
    telemetry_sample(t, now_ns);
    window_close(t->window);
}

static void fill_totals(const struct telemetry *t, struct report *r)
{
    for (unsigned i = 0; i < t->h.tunnels; i++) {
        const struct dp_stats_tunnel *s = tunnel_at(t, i);
        if (!in_use(s))
            continue;
        struct window_reading now = read_slot(s);
        r->totals.tx_bytes += now.tx_bytes;
        r->totals.rx_bytes += now.rx_bytes;
        r->totals.wire_tx_bytes += now.tx_wire;
        r->totals.wire_rx_bytes += now.rx_wire;
        r->totals.tx_packets += now.tx_packets;
        r->totals.rx_packets += now.rx_packets;
        if (s->worker < r->n_workers)
            r->workers[s->worker].tunnels++;
    }
}

void telemetry_fill(const struct telemetry *t, struct report *r)
{
    memset(r->drops, 0, sizeof r->drops);
    r->totals = (struct report_totals){0};
    r->interval_seconds = 0;
    r->samples = 0;
    r->n_workers = 0;
    if (!t->map)
        return;
    window_totals(t->window, r);
    fill_totals(t, r);
    for (unsigned i = 0; i < r->n_workers; i++) {
        const struct dp_stats_worker *k = worker_at(t, i);
        r->workers[i].segments_in = get(&k->segments_in);
        r->workers[i].segments_out = get(&k->segments_out);
        r->workers[i].handoff_in = get(&k->handoff_in);
        r->workers[i].handoff_out = get(&k->handoff_out);
        for (unsigned d = 0; d < DROP_COUNT; d++)
            r->drops[d] += get(&k->drops[d]);
    }
}

static void fill_tunnel(const struct dp_stats_tunnel *s, uint16_t port_base, unsigned offset,
                        struct report_tunnel *out)
{
    unsigned port = port_base + (offset + s->tunnel) % HW_PORTS_PER_GATEWAY;
    struct window_reading now = read_slot(s);
    uint64_t mtu = get(&s->mtu);
    *out = (struct report_tunnel){.tunnel = s->tunnel,
                                  .state = __atomic_load_n(&s->state, __ATOMIC_RELAXED),
                                  .reason = __atomic_load_n(&s->reason, __ATOMIC_RELAXED),
                                  .port = (uint16_t)port,
                                  .rtt_us = now.rtt_last,
                                  .tx_packets = now.tx_packets,
                                  .tx_bytes = now.tx_bytes,
                                  .rx_packets = now.rx_packets,
                                  .rx_bytes = now.rx_bytes,
                                  .probes_sent = get(&s->probes_sent),
                                  .probes_answered = now.answered,
                                  .probes_lost = now.lost,
                                  .probes_reflected = get(&s->probes_reflected),
                                  .worker = s->worker < HW_WORKERS_MAX ? s->worker : 0,
                                  .mtu = mtu <= UINT16_MAX ? (uint32_t)mtu : 0,
                                  .wire_tx_bytes = now.tx_wire,
                                  .wire_rx_bytes = now.rx_wire,
                                  .auth_failures = get(&s->auth_failures),
                                  .replays = get(&s->replays)};
    if (out->state > DP_TUNNEL_DOWN)
        out->state = DP_TUNNEL_NO_SA;
    if (out->reason > DP_REASON_DISABLED)
        out->reason = DP_REASON_NONE;
}

static void fill_rates(const struct telemetry *t, const struct hw_id *link, struct report_link *out)
{
    struct window_link m;
    if (!window_link(t->window, link, &m))
        return;
    out->tx_bps = m.tx_bps;
    out->rx_bps = m.rx_bps;
    out->wire_tx_bps = m.wire_tx_bps;
    out->wire_rx_bps = m.wire_rx_bps;
    out->tx_pps = m.tx_pps;
    out->rx_pps = m.rx_pps;
    out->goodput_tx = m.goodput_tx;
    out->goodput_rx = m.goodput_rx;
    out->rtt_us = m.rtt_us;
    out->loss = m.loss;
    out->imbalance = m.imbalance;
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
        fill_tunnel(s, port_base, offset, &tunnels[n]);
        window_rtt(t->window, i, &tunnels[n].rtt_us_min, &tunnels[n].rtt_us_max);
        n++;
    }
    if (n == 0)
        return err_set(e, HW_ENOTFOUND, "no tunnel of this link");
    fill_rates(t, link, out);
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
