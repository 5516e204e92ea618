/* Reports become rows, and rows become one: restarts, gaps, links that come and go. */
#include "common/esp_suite.h"
#include "controller/telemetry/report_row.h"
#include "controller/telemetry/rollup.h"
#include "tests/unit/suite.h"
#include <stdlib.h>

static struct err e;
static const struct hw_id one = {{1}}, two = {{2}}, foreign = {{9}}, boot = {{7}};

static bool own(const void *arg, const struct hw_id *id)
{
    (void)arg;
    return !id_equal(id, &foreign);
}

/* A report of `n` links with a tunnel each that has carried `bytes`. */
static struct report report(size_t n, const struct hw_id *ids, uint64_t bytes)
{
    struct report r = {.interval_seconds = 10,
                       .time = 5000,
                       .dataplane = {.connected = true, .boot_id = boot},
                       .n_workers = 2,
                       .workers = {{.busy_ratio = 0.5, .busy_ratio_max = 0.75, .handoff_in = bytes},
                                   {.busy_ratio = 0.1, .busy_ratio_max = 0.9}}};
    r.links = calloc(n, sizeof *r.links);
    r.n_links = n;
    r.drops[DROP_NO_ROUTE] = bytes / 10;
    for (size_t i = 0; i < n; i++) {
        r.links[i] = (struct report_link){.link_id = ids[i],
                                          .suite = ESP_SUITE_AES_256_GCM,
                                          .mtu = 1438,
                                          .rekeyed_at = 4000,
                                          .tx_bps = bytes,
                                          .n_tunnels = 1};
        r.links[i].tunnels = calloc(1, sizeof *r.links[i].tunnels);
        r.links[i].tunnels[0] = (struct report_tunnel){.state = DP_TUNNEL_UP,
                                                       .tx_bytes = bytes,
                                                       .wire_tx_bytes = 2 * bytes,
                                                       .probes_answered = bytes / 10,
                                                       .rtt_us = 100,
                                                       .mtu = 1438};
    }
    return r;
}

/* The row of `now` after a report `before` (freed, both). */
static struct pack_row row_after(struct report *before, struct report *now)
{
    struct pack_row row;
    struct counters *c = before ? counters_of(before) : NULL;
    CU_ASSERT_EQUAL_FATAL(report_row_make(now, c, own, NULL, &row, &e), 0);
    counters_free(c);
    report_done(before);
    report_done(now);
    return row;
}

static void test_added(void)
{
    struct hw_id ids[] = {two, one};
    struct report a = report(2, ids, 1000), b = report(2, ids, 1500);
    b.totals.goodput_tx_bps = 800;
    struct pack_row row = row_after(&a, &b);
    CU_ASSERT_EQUAL_FATAL(row.n_links, 2);
    CU_ASSERT_TRUE(id_equal(&row.links[0].id, &one)); /* sorted */
    CU_ASSERT_EQUAL(row.links[1].counters[LINK_TX_BYTES], 500);
    CU_ASSERT_EQUAL(row.gateway.counters[GATEWAY_TX_BYTES], 1000);
    CU_ASSERT_EQUAL(row.gateway.counters[GATEWAY_WIRE_TX_BYTES], 2000);
    CU_ASSERT_EQUAL(row.gateway.counters[GATEWAY_HANDOFFS], 500);
    CU_ASSERT_EQUAL(row.drops[DROP_NO_ROUTE], 50);
    CU_ASSERT_EQUAL(row.gateway.gauges[GATEWAY_GOODPUT_TX].max, 800); /* without a spread */
    CU_ASSERT_DOUBLE_EQUAL(row.gateway.gauges[GATEWAY_BUSY].avg, 0.5, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(row.gateway.gauges[GATEWAY_BUSY].max, 0.9, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(row.gateway.gauges[GATEWAY_IMBALANCE].avg, 0.5 / 0.3, 1e-6);
    CU_ASSERT_TRUE(isnan(row.gateway.gauges[GATEWAY_CONNTRACK].avg));
    CU_ASSERT_EQUAL(row.links[0].rekey_age, 1000);
    CU_ASSERT_EQUAL(row.links[0].up_ms, 10000);
    CU_ASSERT_EQUAL(row.gateway.links_up, 2);
    CU_ASSERT_EQUAL(row.tunnels[1].link, 1);
    CU_ASSERT_EQUAL(row.tunnels[0].gauges[TUNNEL_GOODPUT_TX].avg, 400);
    pack_row_done(&row);
}

/* Nobody knows what was before: nothing is added, and no rate of a tunnel is told. */
static void test_first_report(void)
{
    struct report a = report(1, &one, 1000000);
    struct pack_row row = row_after(NULL, &a);
    CU_ASSERT_EQUAL(row.gateway.counters[GATEWAY_TX_BYTES], 0);
    CU_ASSERT_EQUAL(row.drops[DROP_NO_ROUTE], 0);
    CU_ASSERT_TRUE(isnan(row.tunnels[0].gauges[TUNNEL_GOODPUT_TX].avg));
    pack_row_done(&row);
}

/* The dataplane began anew, a slot did, a link is new: what they say counts whole. */
static void test_began_anew(void)
{
    struct hw_id ids[] = {one, two};
    struct report a = report(1, &one, 1000), b = report(1, &one, 1200);
    b.dataplane.boot_id.b[1] = 1;
    struct pack_row row = row_after(&a, &b);
    CU_ASSERT_EQUAL(row.gateway.counters[GATEWAY_TX_BYTES], 1200);
    pack_row_done(&row);
    a = report(1, &one, 1000);
    b = report(1, &one, 300);
    row = row_after(&a, &b);
    CU_ASSERT_EQUAL(row.gateway.counters[GATEWAY_TX_BYTES], 300);
    pack_row_done(&row);
    a = report(1, &one, 1000);
    b = report(2, ids, 1100);
    row = row_after(&a, &b);
    CU_ASSERT_EQUAL(row.links[0].counters[LINK_TX_BYTES], 100);
    CU_ASSERT_EQUAL(row.links[1].counters[LINK_TX_BYTES], 1100);
    pack_row_done(&row);
    /* A link that is gone takes nothing away. */
    a = report(2, ids, 1000);
    b = report(1, &two, 1100);
    row = row_after(&a, &b);
    CU_ASSERT_EQUAL(row.gateway.counters[GATEWAY_TX_BYTES], 100);
    pack_row_done(&row);
}

/* The agent, or its dataplane's socket, was away for a moment: counters go on where they were. */
static void test_dataplane_away(void)
{
    struct report a = report(1, &one, 1000), gone = report(1, &one, 0),
                  back = report(1, &one, 1300);
    struct counters *c = counters_of(&a);
    gone.dataplane = (struct report_dataplane){.connected = false};
    gone.links[0].state = REPORT_LINK_DOWN;
    counters_keep(c, &gone);
    CU_ASSERT_EQUAL(c->links[0].state, REPORT_LINK_DOWN);
    struct pack_row row;
    CU_ASSERT_EQUAL_FATAL(report_row_make(&back, c, own, NULL, &row, &e), 0);
    CU_ASSERT_EQUAL(row.gateway.counters[GATEWAY_TX_BYTES], 300);
    CU_ASSERT_EQUAL(row.links[0].changes, 1);
    pack_row_done(&row);
    counters_free(c);
    /* Known only from a report without a dataplane: like nothing at all. */
    c = counters_of(&gone);
    CU_ASSERT_EQUAL_FATAL(report_row_make(&back, c, own, NULL, &row, &e), 0);
    CU_ASSERT_EQUAL(row.gateway.counters[GATEWAY_TX_BYTES], 0);
    pack_row_done(&row);
    counters_free(c);
    report_done(&a);
    report_done(&gone);
    report_done(&back);
}

static void test_no_interval_and_foreign(void)
{
    struct hw_id ids[] = {one, foreign};
    struct report a = report(2, ids, 10), b = report(2, ids, 20);
    b.interval_seconds = 0;
    struct pack_row row = row_after(&a, &b);
    CU_ASSERT_EQUAL(row.n_links, 1);
    CU_ASSERT_EQUAL(row.n_tunnels, 1);
    CU_ASSERT_EQUAL(row.ms, 0);
    CU_ASSERT_TRUE(isnan(row.gateway.gauges[GATEWAY_GOODPUT_TX].avg));
    CU_ASSERT_TRUE(isnan(row.gateway.gauges[GATEWAY_BUSY].avg));
    CU_ASSERT_EQUAL(row.gateway.counters[GATEWAY_TX_BYTES], 10);
    pack_row_done(&row);
}

static void test_table(void)
{
    struct counters_table *t = counters_table_new();
    struct report a = report(1, &one, 1000);
    CU_ASSERT_PTR_NULL(counters_table_take(t, &one));
    counters_table_put(t, &one, counters_of(&a), 5);
    counters_table_put(t, &one, counters_of(&a), 7); /* replaces */
    counters_table_put(t, &two, counters_of(&a), 9);
    counters_table_prune(t, 7);
    struct counters *c = counters_table_take(t, &one);
    CU_ASSERT_PTR_NOT_NULL(c);
    CU_ASSERT_PTR_NULL(counters_table_take(t, &one));
    counters_table_put(t, &one, c, 7);
    counters_table_prune(t, 8);
    CU_ASSERT_PTR_NULL(counters_table_take(t, &one));
    c = counters_table_take(t, &two);
    CU_ASSERT_PTR_NOT_NULL(c);
    counters_free(c);
    counters_table_free(t);
    counters_table_free(NULL);
    report_done(&a);
}

/* ---- rollup ---- */

static struct pack_row made(uint32_t ms, size_t n, const struct hw_id *ids, float rate)
{
    struct pack_row r = {.flags = PACK_CONNECTED, .reports = 1, .ms = ms};
    r.links = calloc(n + 1, sizeof *r.links);
    r.tunnels = calloc(n + 1, sizeof *r.tunnels);
    for (int i = 0; i < GATEWAY_GAUGES; i++)
        r.gateway.gauges[i] = GAUGE_UNKNOWN;
    r.gateway.gauges[0] = (struct gauge){rate, rate / 2, rate * 2};
    r.gateway.counters[GATEWAY_TX_BYTES] = 100;
    r.gateway.tunnels = r.gateway.tunnels_up = (uint16_t)n;
    for (size_t i = 0; i < n; i++) {
        r.links[i] = (struct pack_link){.id = ids[i], .tunnels = 1, .tunnels_up = 1, .mtu = 1438};
        r.links[i].counters[LINK_TX_BYTES] = 10;
        r.links[i].gauges[0] = (struct gauge){rate, rate, rate};
        r.tunnels[i] =
            (struct pack_tunnel){.link = (uint16_t)i, .state = DP_TUNNEL_UP, .mtu = 1400};
    }
    r.n_links = r.n_tunnels = n;
    return r;
}

static void add(struct rollup *u, struct pack_row r)
{
    CU_ASSERT_EQUAL_FATAL(rollup_add(u, &r, &e), 0);
    pack_row_done(&r);
}

static void test_weights(void)
{
    struct rollup u = {0};
    struct pack_row silent = made(0, 1, &one, 0);
    silent.gateway.gauges[0] = GAUGE_UNKNOWN;
    add(&u, made(10000, 1, &one, 100));
    add(&u, made(30000, 1, &one, 200));
    add(&u, silent);
    CU_ASSERT_EQUAL(rollup_close(&u, &e), 0);
    CU_ASSERT_EQUAL(u.row.reports, 3);
    CU_ASSERT_EQUAL(u.row.ms, 40000);
    CU_ASSERT_DOUBLE_EQUAL(u.row.gateway.gauges[0].avg, 175, 1e-3);
    CU_ASSERT_EQUAL(u.row.gateway.gauges[0].min, 50);
    CU_ASSERT_EQUAL(u.row.gateway.gauges[0].max, 400);
    CU_ASSERT_TRUE(isnan(u.row.gateway.gauges[1].avg));
    CU_ASSERT_EQUAL(u.row.gateway.counters[GATEWAY_TX_BYTES], 300);
    CU_ASSERT_EQUAL(u.row.links[0].counters[LINK_TX_BYTES], 30);
    rollup_done(&u);
}

/* A link that came later sorts before: its tunnels go with it. */
static void test_links_come_and_go(void)
{
    struct hw_id both[] = {one, two};
    struct rollup u = {0};
    add(&u, made(10000, 1, &two, 8));
    add(&u, made(10000, 2, both, 16));
    add(&u, made(10000, 1, &one, 32));
    CU_ASSERT_EQUAL(rollup_close(&u, &e), 0);
    CU_ASSERT_EQUAL_FATAL(u.row.n_links, 2);
    CU_ASSERT_TRUE(id_equal(&u.row.links[0].id, &one));
    CU_ASSERT_EQUAL(u.row.links[0].gauges[0].avg, 24);
    CU_ASSERT_EQUAL(u.row.links[1].gauges[0].avg, 12);
    CU_ASSERT_EQUAL_FATAL(u.row.n_tunnels, 2);
    CU_ASSERT_EQUAL(u.row.tunnels[0].link, 0);
    CU_ASSERT_EQUAL(u.row.tunnels[1].link, 1);
    CU_ASSERT_EQUAL(u.row.gateway.tunnels, 2);
    CU_ASSERT_EQUAL(u.row.gateway.tunnels_up, 1);
    rollup_done(&u);
}

static void test_worst(void)
{
    struct rollup u = {0};
    struct pack_row bad = made(10000, 1, &one, 1), good = made(10000, 1, &one, 1);
    bad.flags = 0;
    bad.links[0].state = REPORT_LINK_DOWN;
    bad.links[0].tunnels_up = 0;
    bad.links[0].mtu = 0;
    bad.links[0].changes = 1;
    bad.tunnels[0].state = DP_TUNNEL_DOWN;
    bad.tunnels[0].probes_lost = UINT32_MAX;
    good.tunnels[0].probes_lost = 1;
    good.links[0].suite = ESP_SUITE_AES_128_GCM;
    add(&u, made(10000, 1, &one, 1));
    add(&u, bad);
    add(&u, good);
    CU_ASSERT_EQUAL(rollup_close(&u, &e), 0);
    CU_ASSERT_EQUAL(u.row.flags, 0);
    CU_ASSERT_EQUAL(u.row.links[0].state, REPORT_LINK_DOWN);
    CU_ASSERT_EQUAL(u.row.links[0].tunnels_up, 0);
    CU_ASSERT_EQUAL(u.row.links[0].mtu, 1438);
    CU_ASSERT_EQUAL(u.row.links[0].suite, ESP_SUITE_AES_128_GCM);
    CU_ASSERT_EQUAL(u.row.links[0].changes, 1);
    CU_ASSERT_EQUAL(u.row.tunnels[0].state, DP_TUNNEL_DOWN);
    CU_ASSERT_EQUAL(u.row.tunnels[0].probes_lost, UINT32_MAX);
    rollup_done(&u);
}

/* An hour in which more links and tunnels came and went than one row holds is rolled up all the
 * same. */
static void test_more_than_fits(void)
{
    static struct hw_id ids[HW_LINKS_MAX + 1];
    struct rollup u = {0};
    for (unsigned i = 0; i <= HW_LINKS_MAX; i++)
        ids[i] = (struct hw_id){{(uint8_t)(i >> 8), (uint8_t)i}};
    add(&u, made(1000, HW_LINKS_MAX, ids, 1));
    add(&u, made(1000, 2, &ids[HW_LINKS_MAX - 1], 1));
    CU_ASSERT_EQUAL(u.row.n_links, HW_LINKS_MAX);
    CU_ASSERT_EQUAL(u.row.n_tunnels, HW_LINKS_MAX);
    CU_ASSERT_EQUAL(u.row.links[HW_LINKS_MAX - 1].counters[LINK_TX_BYTES], 20);
    CU_ASSERT_EQUAL(u.row.reports, 2);

    for (unsigned k = 1; k < HW_TUNNELS_MAX / HW_LINKS_MAX + 1; k++) {
        struct pack_row more = made(1000, HW_LINKS_MAX, ids, 1);
        for (size_t i = 0; i < more.n_tunnels; i++)
            more.tunnels[i].number = (uint8_t)k;
        add(&u, more);
    }
    CU_ASSERT_EQUAL(u.row.n_tunnels, HW_TUNNELS_MAX);
    CU_ASSERT_EQUAL(rollup_close(&u, &e), 0);
    rollup_done(&u);
}

/* A rollup of rollups says what one of everything would. */
static void test_twice(void)
{
    struct hw_id both[] = {one, two};
    struct rollup flat = {0}, halves[2] = {{.gateway_ms = {0}}, {.gateway_ms = {0}}}, u = {0};
    for (int i = 0; i < 8; i++) {
        size_t n = i % 2 ? 2 : 1;
        add(&flat, made(1000u * (uint32_t)(i + 1), n, both, (float)(1 << i)));
        add(&halves[i / 4], made(1000u * (uint32_t)(i + 1), n, both, (float)(1 << i)));
    }
    CU_ASSERT_EQUAL(rollup_close(&flat, &e), 0);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(rollup_close(&halves[i], &e), 0);
        CU_ASSERT_EQUAL(rollup_add(&u, &halves[i].row, &e), 0);
        rollup_done(&halves[i]);
    }
    CU_ASSERT_EQUAL(rollup_close(&u, &e), 0);
    CU_ASSERT_DOUBLE_EQUAL(u.row.gateway.gauges[0].avg, flat.row.gateway.gauges[0].avg, 1e-3);
    CU_ASSERT_EQUAL(u.row.gateway.gauges[0].max, flat.row.gateway.gauges[0].max);
    CU_ASSERT_EQUAL(u.row.ms, flat.row.ms);
    CU_ASSERT_EQUAL(u.row.reports, 8);
    CU_ASSERT_EQUAL(u.row.links[1].counters[LINK_TX_BYTES], 40);
    rollup_done(&flat);
    rollup_done(&u);
}

int main(void)
{
    CU_TestInfo tests[] = {{"what was added", test_added},
                           {"the first report", test_first_report},
                           {"counters began anew", test_began_anew},
                           {"the dataplane was away", test_dataplane_away},
                           {"no interval, foreign links", test_no_interval_and_foreign},
                           {"counters of all gateways", test_table},
                           {"averages have weights", test_weights},
                           {"links come and go", test_links_come_and_go},
                           {"the worst", test_worst},
                           {"more than one row holds", test_more_than_fits},
                           {"a rollup of rollups", test_twice},
                           CU_TEST_INFO_NULL};
    return suite_run("rollup", tests);
}
