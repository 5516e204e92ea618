/* Rates and sums from a counters file as the dataplane writes it. */
#include "agent/control/telemetry.h"
#include "common/clock.h"
#include "common/dp_proto.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORKERS 2
#define TUNNELS 16
#define T0      (1000 * NS_PER_S)

static struct counters {
    struct dp_stats_header h;
    struct dp_stats_worker w[WORKERS];
    struct dp_stats_tunnel t[TUNNELS];
} * shared;
static int fd = -1;
static struct telemetry *t;
static struct err e;

static void up(void)
{
    fd = memfd_create("counters", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(fd, sizeof *shared), 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(shared, MAP_FAILED);
    shared->h = (struct dp_stats_header){.magic = DP_STATS_MAGIC,
                                         .version = DP_STATS_VERSION,
                                         .boot = id_new(),
                                         .workers = WORKERS,
                                         .worker_offset = offsetof(struct counters, w),
                                         .worker_stride = sizeof(struct dp_stats_worker),
                                         .tunnels = TUNNELS,
                                         .tunnel_offset = offsetof(struct counters, t),
                                         .tunnel_stride = sizeof(struct dp_stats_tunnel)};
    CU_ASSERT_EQUAL_FATAL(telemetry_new(&t, &e), 0);
}

static void down(void)
{
    telemetry_free(t);
    (void)munmap(shared, sizeof *shared);
    (void)close(fd);
}

static void slot(unsigned i, const struct hw_id *link, unsigned tunnel, uint64_t tx, uint64_t rx)
{
    struct dp_stats_tunnel *s = &shared->t[i];
    s->link = *link;
    s->tunnel = (uint16_t)tunnel;
    s->state = DP_TUNNEL_UP;
    s->reason = DP_REASON_ANSWERED;
    s->tx_inner_bytes = tx;
    s->rx_inner_bytes = rx;
    s->tx_wire_bytes = tx + tx / 10;
    s->tx_packets = tx / 1000;
    s->used = 1;
}

static void test_look(void)
{
    struct hw_id one = id_new(), two = id_new();
    struct report r = {.n_links = 0};
    struct report_link l = {.n_tunnels = 0};
    up();
    slot(3, &one, 1, 1000, 500);
    slot(5, &one, 0, 2000, 0);
    slot(6, &two, 0, 7000, 0);
    shared->w[0].drops[DROP_NO_ROUTE] = 3;
    shared->w[1].drops[DROP_NO_ROUTE] = 4;
    CU_ASSERT_EQUAL(telemetry_attach(t, fd, &e), 0);
    telemetry_close(t, T0);
    telemetry_fill(t, &r);
    CU_ASSERT_EQUAL(r.totals.tx_bytes, 10000);
    CU_ASSERT_EQUAL(r.totals.goodput_tx_bps, 0);
    CU_ASSERT_EQUAL(r.drops[DROP_NO_ROUTE], 7);
    shared->t[3].tx_inner_bytes += 125000;
    shared->t[3].worker = 1;
    shared->t[3].mtu = 1438;
    shared->w[1].segments_out = 9;
    shared->w[1].busy_ns = NS_PER_S / 4;
    telemetry_close(t, T0 + NS_PER_S / 10); /* too soon */
    telemetry_fill(t, &r);
    CU_ASSERT_EQUAL(r.totals.tx_bytes, 135000);
    CU_ASSERT_EQUAL(r.totals.goodput_tx_bps, 0);
    telemetry_close(t, T0 + NS_PER_S);
    telemetry_fill(t, &r);
    CU_ASSERT_EQUAL(r.totals.tx_bytes, 135000);
    CU_ASSERT_EQUAL(r.totals.goodput_tx_bps, 1000000);
    CU_ASSERT_EQUAL(r.n_workers, 2);
    CU_ASSERT_DOUBLE_EQUAL(r.workers[1].busy_ratio, 0.25, 1e-9);
    CU_ASSERT_EQUAL(telemetry_fill_link(t, &one, 4510, 49, &l, &e), 0);
    CU_ASSERT_EQUAL(l.n_tunnels, 2);
    CU_ASSERT_EQUAL(l.tx_bps, 1000000);
    CU_ASSERT_EQUAL(l.tunnels[0].tunnel, 0);
    CU_ASSERT_EQUAL(l.tunnels[0].port, 4559);
    CU_ASSERT_EQUAL(l.tunnels[1].port, 4510);
    CU_ASSERT_EQUAL(l.tunnels[1].tx_bytes, 126000);
    CU_ASSERT_EQUAL(l.tunnels[1].mtu, 1438);
    CU_ASSERT_EQUAL(l.tunnels[1].worker, 1);
    CU_ASSERT_EQUAL(r.workers[0].tunnels, 2);
    CU_ASSERT_EQUAL(r.workers[1].tunnels, 1);
    CU_ASSERT_EQUAL(r.workers[1].segments_out, 9);
    free(l.tunnels);
    struct hw_id none = id_new();
    CU_ASSERT_EQUAL(telemetry_fill_link(t, &none, 4510, 0, &l, &e), HW_ENOTFOUND);
    /* The slot now belongs to another tunnel, whose counters are higher: that is no rate. */
    slot(3, &two, 1, 900000, 0);
    telemetry_close(t, T0 + 2 * NS_PER_S);
    l = (struct report_link){.n_tunnels = 0};
    CU_ASSERT_EQUAL(telemetry_fill_link(t, &two, 4510, 0, &l, &e), 0);
    CU_ASSERT_EQUAL(l.tx_bps, 0);
    free(l.tunnels);
    CU_ASSERT_EQUAL(telemetry_attach(t, -1, &e), 0);
    telemetry_close(t, T0 + 3 * NS_PER_S);
    telemetry_fill(t, &r);
    CU_ASSERT_EQUAL(r.totals.tx_bytes, 0);
    CU_ASSERT_EQUAL(r.n_workers, 0);
    down();
}

/* Values that another process wrote are not trusted with memory. */
static void test_layouts(void)
{
    up();
    struct dp_stats_header good = shared->h;
    CU_ASSERT_EQUAL(telemetry_attach(t, fd, &e), 0);
    shared->h.magic ^= 1;
    CU_ASSERT_EQUAL(telemetry_attach(t, fd, &e), HW_EPROTO);
    shared->h = good;
    shared->h.tunnels = HW_TUNNELS_MAX;
    CU_ASSERT_EQUAL(telemetry_attach(t, fd, &e), HW_EPROTO);
    shared->h = good;
    shared->h.tunnel_offset = UINT32_MAX - 7;
    CU_ASSERT_EQUAL(telemetry_attach(t, fd, &e), HW_EPROTO);
    shared->h = good;
    shared->h.worker_stride = 8;
    CU_ASSERT_EQUAL(telemetry_attach(t, fd, &e), HW_EPROTO);
    shared->h = good;
    shared->h.workers = HW_WORKERS_MAX + 1;
    CU_ASSERT_EQUAL(telemetry_attach(t, fd, &e), HW_EPROTO);
    shared->h = good;
    shared->t[0].used = 1;
    shared->t[0].state = 77;
    shared->t[0].reason = 99;
    struct report_link l = {.n_tunnels = 0};
    CU_ASSERT_EQUAL(telemetry_attach(t, fd, &e), 0);
    CU_ASSERT_EQUAL(telemetry_fill_link(t, &shared->t[0].link, 4510, 0, &l, &e), 0);
    CU_ASSERT_EQUAL(l.tunnels[0].state, DP_TUNNEL_NO_SA);
    CU_ASSERT_EQUAL(l.tunnels[0].reason, DP_REASON_NONE);
    free(l.tunnels);
    CU_ASSERT_EQUAL(ftruncate(fd, 16), 0);
    CU_ASSERT_EQUAL(telemetry_attach(t, fd, &e), HW_EPROTO);
    down();
}

static void test_still_worker(void)
{
    up();
    CU_ASSERT_EQUAL(telemetry_attach(t, fd, &e), 0);
    CU_ASSERT_EQUAL(telemetry_still_worker(t, T0, 5 * NS_PER_S), -1);
    shared->w[0].heartbeat++;
    CU_ASSERT_EQUAL(telemetry_still_worker(t, T0 + 4 * NS_PER_S, 5 * NS_PER_S), -1);
    shared->w[0].heartbeat++;
    CU_ASSERT_EQUAL(telemetry_still_worker(t, T0 + 5 * NS_PER_S, 5 * NS_PER_S), 1);
    shared->w[1].heartbeat++;
    CU_ASSERT_EQUAL(telemetry_still_worker(t, T0 + 6 * NS_PER_S, 5 * NS_PER_S), -1);
    down();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"looking at the counters", test_look},
        {"layouts that lie", test_layouts},
        {"a worker stands still", test_still_worker},
        CU_TEST_INFO_NULL,
    };
    return suite_run("telemetry", tests);
}
