/* Seconds become an interval: what is averaged, what is smallest and largest, and what is no rate
 * at all. */
#include "agent/control/telemetry_window.h"
#include "common/clock.h"
#include "tests/unit/suite.h"
#include <stdlib.h>

#define T0    (1000 * NS_PER_S)
#define SLOTS 4

static struct window *w;
static struct err e;
static const struct hw_id one = {{1}}, two = {{2}};
static struct window_reading slots[SLOTS];
static bool used[SLOTS];
static uint64_t busy[2];

static void up(void)
{
    memset(slots, 0, sizeof slots);
    memset(used, 0, sizeof used);
    memset(busy, 0, sizeof busy);
    CU_ASSERT_EQUAL_FATAL(window_new(SLOTS, 2, &w, &e), 0);
}

static void put(unsigned i, const struct hw_id *link, uint16_t tunnel)
{
    slots[i] = (struct window_reading){.link = *link, .tunnel = tunnel};
    used[i] = true;
}

static void sample(uint64_t at_ns)
{
    if (!window_sample(w, at_ns))
        return;
    for (unsigned i = 0; i < SLOTS; i++)
        window_slot(w, i, used[i] ? &slots[i] : NULL);
    for (unsigned i = 0; i < 2; i++)
        window_worker(w, i, busy[i]);
    window_sample_end(w);
}

static struct window_link link_of(const struct hw_id *id)
{
    struct window_link l = {0};
    CU_ASSERT_TRUE(window_link(w, id, &l));
    return l;
}

/* Three seconds of 8, 0 and 16 kbit/s. */
static void test_spread(void)
{
    static const unsigned bytes[] = {1000, 0, 2000};
    struct report r = {0};
    up();
    put(0, &one, 0);
    slots[0].tx_bytes = 77777; /* sent before anybody looked */
    sample(T0);
    for (unsigned i = 0; i < 3; i++) {
        slots[0].tx_bytes += bytes[i];
        slots[0].tx_wire += bytes[i] * 2;
        slots[0].tx_packets += 3;
        sample(T0 + (i + 1) * NS_PER_S);
    }
    window_close(w);
    window_totals(w, &r);
    CU_ASSERT_DOUBLE_EQUAL(r.interval_seconds, 3, 1e-9);
    CU_ASSERT_EQUAL(r.samples, 3);
    CU_ASSERT_EQUAL(r.totals.goodput_tx_bps, 8000);
    CU_ASSERT_EQUAL(r.totals.goodput_tx.avg, 8000);
    CU_ASSERT_EQUAL(r.totals.goodput_tx.min, 0);
    CU_ASSERT_EQUAL(r.totals.goodput_tx.max, 16000);
    CU_ASSERT_EQUAL(r.totals.wire_tx.max, 32000);
    CU_ASSERT_EQUAL(r.totals.tx_pps, 3);
    CU_ASSERT_EQUAL(r.totals.goodput_rx.max, 0);
    CU_ASSERT_EQUAL(link_of(&one).goodput_tx.max, 16000);
    CU_ASSERT_EQUAL(link_of(&one).tx_bps, 8000);
    CU_ASSERT_FALSE(link_of(&one).rtt_us.known);
    CU_ASSERT_FALSE(link_of(&one).loss.known);
    CU_ASSERT_FALSE(window_link(w, &two, &(struct window_link){0}));
    /* The next interval begins where this one ended. */
    slots[0].tx_bytes += 500;
    sample(T0 + 4 * NS_PER_S);
    window_close(w);
    CU_ASSERT_EQUAL(link_of(&one).goodput_tx.min, 4000);
    CU_ASSERT_EQUAL(link_of(&one).goodput_tx.max, 4000);
    window_free(w);
}

/* A second that was missed is covered by the next look; too early a look is none. */
static void test_late_and_early(void)
{
    struct report r = {0};
    up();
    put(0, &one, 0);
    sample(T0);
    slots[0].rx_bytes = 3000;
    sample(T0 + 3 * NS_PER_S);
    slots[0].rx_bytes += 100000;
    sample(T0 + 3 * NS_PER_S + NS_PER_S / 10);
    window_close(w);
    window_totals(w, &r);
    CU_ASSERT_EQUAL(r.samples, 1);
    CU_ASSERT_EQUAL(r.totals.goodput_rx_bps, 8000);
    /* Nothing was sampled since: the figures stand. */
    window_close(w);
    window_totals(w, &r);
    CU_ASSERT_EQUAL(r.totals.goodput_rx_bps, 8000);
    CU_ASSERT_DOUBLE_EQUAL(r.interval_seconds, 3, 1e-9);
    window_free(w);
}

/* A slot that went to another tunnel, or whose counter went back, makes no rate. */
static void test_slots_change(void)
{
    up();
    put(0, &one, 0);
    put(1, &two, 0);
    sample(T0);
    slots[0].tx_bytes = 1000;
    put(1, &one, 1);
    slots[1].tx_bytes = 1u << 30;
    sample(T0 + NS_PER_S);
    window_close(w);
    CU_ASSERT_EQUAL(link_of(&one).tx_bps, 8000);
    CU_ASSERT_FALSE(window_link(w, &two, &(struct window_link){0}));
    slots[0].tx_bytes = 10;
    slots[1].tx_bytes += 125;
    used[0] = false;
    sample(T0 + 2 * NS_PER_S);
    put(0, &one, 0);
    slots[0].tx_bytes = 10;
    slots[1].tx_bytes = 5;
    sample(T0 + 3 * NS_PER_S);
    window_close(w);
    CU_ASSERT_EQUAL(link_of(&one).tx_bps, 500);
    window_free(w);
}

static void test_probes(void)
{
    uint64_t min, max;
    up();
    put(0, &one, 0);
    put(1, &one, 1);
    sample(T0);
    slots[0].answered = 9;
    slots[0].rtt_sum = 900;
    slots[0].rtt_last = 90;
    slots[1].answered = 1;
    slots[1].rtt_sum = 200;
    slots[1].rtt_last = 200;
    slots[1].lost = 10;
    sample(T0 + NS_PER_S);
    slots[0].answered = 10;
    slots[0].rtt_sum = 900 + 5; /* quicker than every look saw */
    slots[0].rtt_last = 5;
    sample(T0 + 2 * NS_PER_S);
    window_close(w);
    struct window_link l = link_of(&one);
    CU_ASSERT_DOUBLE_EQUAL(l.loss.value, 10.0 / 21, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(l.rtt_us.avg, 1105.0 / 11, 1e-9);
    CU_ASSERT_EQUAL(l.rtt_us.min, 5);
    CU_ASSERT_EQUAL(l.rtt_us.max, 200);
    window_rtt(w, 0, &min, &max);
    CU_ASSERT_TRUE(min == 5 && max == 90);
    window_rtt(w, 1, &min, &max);
    CU_ASSERT_TRUE(min == 200 && max == 200);
    window_free(w);
}

static void test_imbalance(void)
{
    up();
    put(0, &one, 0);
    put(1, &one, 1);
    sample(T0);
    slots[0].tx_bytes = 300;
    slots[1].rx_bytes = 100;
    sample(T0 + NS_PER_S);
    window_close(w);
    CU_ASSERT_FALSE(link_of(&one).imbalance.known); /* too little to tell */
    slots[0].tx_bytes += 3000000;
    slots[1].rx_bytes += 1000000;
    sample(T0 + 2 * NS_PER_S);
    window_close(w);
    CU_ASSERT_DOUBLE_EQUAL(link_of(&one).imbalance.value, 1.5, 1e-9);
    window_free(w);
}

static void test_workers(void)
{
    struct report r = {0};
    up();
    busy[1] = 500 * NS_PER_S; /* busy for long before anybody looked */
    sample(T0);
    busy[0] += NS_PER_S / 4;
    busy[1] += 2 * NS_PER_S; /* a clock read a little later */
    sample(T0 + NS_PER_S);
    sample(T0 + 2 * NS_PER_S);
    window_close(w);
    window_totals(w, &r);
    CU_ASSERT_EQUAL(r.n_workers, 2);
    CU_ASSERT_DOUBLE_EQUAL(r.workers[0].busy_ratio, 0.125, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r.workers[0].busy_ratio_max, 0.25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(r.workers[1].busy_ratio_max, 1, 1e-9);
    window_free(w);
    window_free(NULL);
}

static void test_rate(void)
{
    CU_ASSERT_EQUAL(window_rate(1000, 2000, 2 * NS_PER_S), 500);
    CU_ASSERT_EQUAL(window_rate(2000, 1000, NS_PER_S), 0);
    CU_ASSERT_EQUAL(window_rate(0, 1000, 0), 0);
    /* 400 Gbit/s for a day stays within range. */
    up();
    put(0, &one, 0);
    sample(T0);
    slots[0].tx_bytes = 50000000000ull * 86400;
    sample(T0 + 86400 * NS_PER_S);
    window_close(w);
    CU_ASSERT_EQUAL(link_of(&one).tx_bps, 400000000000);
    window_free(w);
}

int main(void)
{
    CU_TestInfo tests[] = {{"smallest and largest second", test_spread},
                           {"a look too late, one too early", test_late_and_early},
                           {"slots change hands", test_slots_change},
                           {"probes", test_probes},
                           {"imbalance", test_imbalance},
                           {"workers", test_workers},
                           {"rates", test_rate},
                           CU_TEST_INFO_NULL};
    return suite_run("telemetry_window", tests);
}
