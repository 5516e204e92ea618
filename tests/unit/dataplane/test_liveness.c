#include "agent/dataplane/liveness.h"
#include "tests/unit/dataplane/packet_test.h"

#define MS 1000000ull

/* Ticks at `ms`; returns the probe's number, or −1 when none was to be sent. */
static int tick(struct liveness *l, uint64_t ms, uint32_t *lost)
{
    uint32_t n;
    bool probe = liveness_tick(l, ms * MS, lost ? lost : &n);
    return probe ? (int)liveness_sent(l, ms * MS) : -1;
}

static bool answer(struct liveness *l, int seq, uint64_t ms)
{
    uint64_t rtt;
    return liveness_answered(l, (uint32_t)seq, ms * MS, &rtt);
}

static void start(struct liveness *l, uint32_t interval_ms, unsigned missed)
{
    liveness_init(l, 0);
    liveness_settings(l, interval_ms, missed);
    liveness_start(l, 1000 * MS);
}

/* At once, then every 100 ms until the first answer, then each interval. */
static void test_probing_rhythm(void)
{
    struct liveness l;
    liveness_init(&l, 0);
    CU_ASSERT_EQUAL(l.state, DP_TUNNEL_NO_SA);
    CU_ASSERT_EQUAL(l.next_ns, LIVENESS_NEVER);
    CU_ASSERT_EQUAL(tick(&l, 500, NULL), -1);
    start(&l, 1000, 3);
    CU_ASSERT_EQUAL(l.state, DP_TUNNEL_PROBING);
    CU_ASSERT_EQUAL(l.next_ns, 1000 * MS);
    int first = tick(&l, 1000, NULL);
    CU_ASSERT_NOT_EQUAL(first, -1);
    for (uint64_t ms = 1100; ms <= 3000; ms += 100) {
        CU_ASSERT_EQUAL(l.next_ns, ms * MS);
        CU_ASSERT_EQUAL(tick(&l, ms - 1, NULL), -1);
        CU_ASSERT_NOT_EQUAL(tick(&l, ms, NULL), -1);
        CU_ASSERT_EQUAL(l.state, DP_TUNNEL_PROBING);
    }
    int last = tick(&l, 3100, NULL);
    CU_ASSERT_TRUE(answer(&l, last, 3103));
    CU_ASSERT_EQUAL(l.state, DP_TUNNEL_UP);
    CU_ASSERT_EQUAL(l.reason, DP_REASON_ANSWERED);
    CU_ASSERT_EQUAL(l.since_ns, 3103 * MS);
    CU_ASSERT_EQUAL(l.rtt_ns, 3 * MS);
    CU_ASSERT_EQUAL(l.next_ns, 4103 * MS);
}

/* Up with 3 × 100 ms: the path dies right after an answer; down 400 ms after it. */
static void test_down_after_missed(void)
{
    struct liveness l;
    start(&l, 100, 3);
    CU_ASSERT_TRUE(answer(&l, tick(&l, 1000, NULL), 1001));
    static const struct {
        uint64_t ms;
        uint32_t lost;
        uint8_t state;
    } steps[] = {{1101, 0, DP_TUNNEL_UP},
                 {1201, 1, DP_TUNNEL_UP},
                 {1301, 1, DP_TUNNEL_UP},
                 {1401, 1, DP_TUNNEL_DOWN},
                 {1501, 1, DP_TUNNEL_DOWN}};
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        uint32_t lost;
        CU_ASSERT_NOT_EQUAL(tick(&l, steps[i].ms, &lost), -1);
        CU_ASSERT_EQUAL(lost, steps[i].lost);
        CU_ASSERT_EQUAL(l.state, steps[i].state);
    }
    CU_ASSERT_EQUAL(l.reason, DP_REASON_NO_ANSWER);
    CU_ASSERT_EQUAL(l.since_ns, 1401 * MS);
    int probe = tick(&l, 1710, NULL);
    CU_ASSERT_TRUE(answer(&l, probe, 1712));
    CU_ASSERT_EQUAL(l.state, DP_TUNNEL_UP);
}

/* One lost now and then is no outage: only a row counts. */
static void test_single_losses(void)
{
    struct liveness l;
    start(&l, 100, 3);
    uint64_t ms = 1000;
    CU_ASSERT_TRUE(answer(&l, tick(&l, ms, NULL), ms + 1));
    uint32_t total = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 3; i++) {
            uint32_t lost;
            ms += 110;
            int probe = tick(&l, ms, &lost);
            total += lost;
            if (i == 2)
                CU_ASSERT_TRUE(answer(&l, probe, ms + 1));
        }
        CU_ASSERT_EQUAL(l.state, DP_TUNNEL_UP);
    }
    CU_ASSERT_TRUE(total >= 98);
}

/* A round trip longer than the interval is not loss. */
static void test_long_path(void)
{
    struct liveness l;
    start(&l, 10, 3);
    /* Found although the first answers come after three probes. */
    int probes[200];
    int n = 0;
    for (uint64_t ms = 1000; ms < 1300; ms += 100)
        probes[n++] = tick(&l, ms, NULL);
    CU_ASSERT_TRUE(answer(&l, probes[0], 1250));
    CU_ASSERT_EQUAL(l.state, DP_TUNNEL_UP);
    CU_ASSERT_EQUAL(l.rtt_ns, 250 * MS);
    int sent = 3, answered = 1;
    uint64_t at[200] = {1000, 1100, 1200};
    for (uint64_t ms = 1260; ms < 2200 && sent < 200; ms += 10) {
        int probe = tick(&l, ms, NULL);
        if (probe >= 0) {
            probes[sent] = probe;
            at[sent++] = ms;
        }
        while (answered < sent && at[answered] + 250 <= ms) {
            CU_ASSERT_TRUE(answer(&l, probes[answered], ms));
            answered++;
        }
        CU_ASSERT_EQUAL(l.state, DP_TUNNEL_UP);
    }
    CU_ASSERT_TRUE(answered > 50);
}

static void test_what_is_no_answer(void)
{
    struct liveness l;
    start(&l, 100, 3);
    int probe = tick(&l, 1000, NULL);
    CU_ASSERT_FALSE(answer(&l, probe + 1, 1001));
    CU_ASSERT_FALSE(answer(&l, probe + (int)LIVENESS_PROBES, 1001));
    CU_ASSERT_EQUAL(l.state, DP_TUNNEL_PROBING);
    CU_ASSERT_TRUE(answer(&l, probe, 1001));
    CU_ASSERT_FALSE(answer(&l, probe, 1002));
    /* Probes of the time before a reset prove nothing after it. */
    int before = tick(&l, 1101, NULL);
    liveness_stop(&l, DP_REASON_PEER_BOOT, 1102 * MS);
    CU_ASSERT_EQUAL(l.state, DP_TUNNEL_NO_SA);
    CU_ASSERT_EQUAL(l.reason, DP_REASON_PEER_BOOT);
    CU_ASSERT_FALSE(answer(&l, before, 1103));
    liveness_start(&l, 1104 * MS);
    CU_ASSERT_FALSE(answer(&l, before, 1105));
    CU_ASSERT_EQUAL(l.state, DP_TUNNEL_PROBING);
}

/* A rekey calls liveness_start again: nothing changes. */
static void test_rekey_keeps_the_state(void)
{
    struct liveness l;
    start(&l, 100, 3);
    CU_ASSERT_TRUE(answer(&l, tick(&l, 1000, NULL), 1001));
    struct liveness before = l;
    liveness_start(&l, 1050 * MS);
    CU_ASSERT_EQUAL(memcmp(&before, &l, sizeof l), 0);
}

static void test_shorter_interval_at_once(void)
{
    struct liveness l;
    start(&l, 10000, 3);
    CU_ASSERT_TRUE(answer(&l, tick(&l, 1000, NULL), 1001));
    CU_ASSERT_EQUAL(l.next_ns, 11001 * MS);
    liveness_settings(&l, 100, 2);
    CU_ASSERT_EQUAL(l.next_ns, 1101 * MS);
    CU_ASSERT_EQUAL(l.state, DP_TUNNEL_UP);
}

int main(void)
{
    CU_TestInfo tests[] = {{"probing rhythm", test_probing_rhythm},
                           {"down after missed", test_down_after_missed},
                           {"single losses", test_single_losses},
                           {"long path", test_long_path},
                           {"what is no answer", test_what_is_no_answer},
                           {"rekey keeps the state", test_rekey_keeps_the_state},
                           {"shorter interval at once", test_shorter_interval_at_once},
                           CU_TEST_INFO_NULL};
    return packet_test_run("liveness", tests);
}
