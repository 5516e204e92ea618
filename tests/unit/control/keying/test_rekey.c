/* Timers, limits, SPIs and the book of SAs: time is passed in. */
#include "agent/control/keying/keylink.h"
#include "agent/control/keying/rekey.h"
#include "agent/control/keying/sa_policy.h"
#include "agent/control/keying/sa_set.h"
#include "agent/control/keying/spi.h"
#include "common/clock.h"
#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>

#define T0 (1000 * NS_PER_S)

static void test_soft_jitter(void)
{
    struct sa_policy p;
    sa_policy_init(&p, 0, 0, 0, 0, 0, true);
    CU_ASSERT_EQUAL(p.soft_seconds, 3600);
    CU_ASSERT_EQUAL(p.hard_seconds, 28800);
    uint64_t low = UINT64_MAX, high = 0;
    srandom(1);
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t ns = sa_policy_soft_ns(&p, (uint32_t)random() * 2u);
        low = ns < low ? ns : low;
        high = ns > high ? ns : high;
    }
    CU_ASSERT(low >= 3240 * NS_PER_S && low < 3300 * NS_PER_S);
    CU_ASSERT(high <= 3960 * NS_PER_S && high > 3900 * NS_PER_S);
}

static void test_limits(void)
{
    struct sa_policy p;
    struct dp_sa_install m = {.esn = 1};
    sa_policy_init(&p, 0, 0, 0, 0, 0, true);
    sa_policy_limits(&p, &m);
    CU_ASSERT_EQUAL(m.soft_bytes, 1ull << 38);
    CU_ASSERT_EQUAL(m.hard_bytes, 1ull << 42);
    CU_ASSERT_EQUAL(m.soft_packets, 0);
    CU_ASSERT_EQUAL(m.hard_packets, 0);
    m.esn = 0;
    sa_policy_limits(&p, &m);
    CU_ASSERT_EQUAL(m.soft_packets, 1ull << 31);
    CU_ASSERT_EQUAL(m.hard_packets, 0xffffffffull);
    sa_policy_init(&p, 100, 50, 0, 0, 0, true);
    CU_ASSERT_EQUAL(p.hard_seconds, 100);
}

static void test_backoff(void)
{
    static const unsigned seconds[] = {1, 2, 4, 8, 16, 32, 60, 60, 60};
    struct rekey r;
    uint64_t now = T0;
    rekey_init(&r);
    rekey_want(&r, 1);
    CU_ASSERT_TRUE(rekey_due(&r, now));
    for (unsigned i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        CU_ASSERT_EQUAL(rekey_alarm(&r), i >= 3);
        rekey_failed(&r, now, (uint32_t)random());
        uint64_t wait = r.retry_ns - now, s = seconds[i] * NS_PER_S;
        CU_ASSERT(wait >= s - s / 5 && wait <= s + s / 5);
        CU_ASSERT_FALSE(rekey_due(&r, r.retry_ns - 1));
        CU_ASSERT_EQUAL(rekey_next_ns(&r), r.retry_ns);
        now = r.retry_ns;
        CU_ASSERT_TRUE(rekey_due(&r, now));
    }
    rekey_keyed(&r, now, 100);
    CU_ASSERT_FALSE(rekey_alarm(&r));
    CU_ASSERT_FALSE(rekey_due(&r, now + 99));
    CU_ASSERT_TRUE(rekey_due(&r, now + 100));
}

/* Whoever hurries it can't have it tried without pause. */
static void test_pace(void)
{
    struct rekey r;
    rekey_init(&r);
    rekey_want(&r, WANT_NO_KEYS);
    rekey_pace(&r, NS_PER_S);
    CU_ASSERT_TRUE(rekey_due(&r, T0));
    for (unsigned i = 0; i < 2; i++) {
        if (i)
            rekey_yielded(&r, T0, 5);
        else
            rekey_failed(&r, T0, 5);
        rekey_hurry(&r);
        rekey_pace(&r, NS_PER_S);
        CU_ASSERT_FALSE(rekey_due(&r, T0 + NS_PER_S - 1));
        CU_ASSERT_TRUE(rekey_due(&r, T0 + NS_PER_S));
    }
    rekey_keyed(&r, T0 - NS_PER_S, 3600 * NS_PER_S);
    rekey_suspect(&r, WANT_MISMATCH);
    rekey_failed(&r, T0, 5);
    CU_ASSERT_TRUE(rekey_withdraw(&r));
    rekey_want(&r, WANT_OPERATOR);
    rekey_pace(&r, NS_PER_S);
    CU_ASSERT_FALSE(rekey_due(&r, T0 + NS_PER_S - 1));
    rekey_keyed(&r, T0, 3600 * NS_PER_S);
    rekey_want(&r, WANT_OPERATOR);
    rekey_pace(&r, NS_PER_S);
    CU_ASSERT_TRUE(rekey_due(&r, T0));
}

/* Only the silence's own reason ends with it. */
static void test_suspicion(void)
{
    struct rekey r;
    rekey_keyed(&r, T0, 3600 * NS_PER_S);
    CU_ASSERT_FALSE(rekey_withdraw(&r));
    rekey_suspect(&r, WANT_MISMATCH);
    CU_ASSERT_TRUE(rekey_due(&r, T0));
    CU_ASSERT_TRUE(rekey_withdraw(&r));
    CU_ASSERT_FALSE(rekey_needed(&r, T0));
    CU_ASSERT_EQUAL(rekey_next_ns(&r), T0 + 3600 * NS_PER_S);
    /* another reason was there before … */
    rekey_want(&r, WANT_CONFIG);
    rekey_suspect(&r, WANT_MISMATCH);
    CU_ASSERT_FALSE(rekey_withdraw(&r));
    CU_ASSERT_EQUAL(r.wanted, WANT_CONFIG);
    CU_ASSERT_TRUE(rekey_due(&r, T0));
    /* … or came later, be it by the same name */
    rekey_keyed(&r, T0, 3600 * NS_PER_S);
    rekey_suspect(&r, WANT_MISMATCH);
    rekey_failed(&r, T0, 5);
    rekey_want(&r, WANT_MISMATCH);
    CU_ASSERT_FALSE(rekey_withdraw(&r));
    CU_ASSERT_TRUE(rekey_needed(&r, T0));
    CU_ASSERT_EQUAL(r.failures, 1);
}

static void test_adopted(void)
{
    struct rekey r;
    rekey_adopted(&r, T0, 40 * NS_PER_S, 100 * NS_PER_S);
    CU_ASSERT_EQUAL(rekey_next_ns(&r), T0 + 60 * NS_PER_S);
    rekey_adopted(&r, T0, 400 * NS_PER_S, 100 * NS_PER_S);
    CU_ASSERT_TRUE(rekey_due(&r, T0));
    rekey_init(&r);
    CU_ASSERT_EQUAL(rekey_next_ns(&r), REKEY_NEVER);
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void test_spi_unique(void)
{
    enum { N = 50, ROUNDS = 400 };
    static uint32_t all[N * ROUNDS];
    struct spi_pool *p;
    CU_ASSERT_EQUAL_FATAL(spi_pool_new(&p, NULL), 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        CU_ASSERT_EQUAL_FATAL(spi_take(p, all + i * N, N, T0, NULL), 0);
    CU_ASSERT_EQUAL(spi_count(p, T0), N * ROUNDS);
    qsort(all, N * ROUNDS, sizeof all[0], compare_u32);
    CU_ASSERT(all[0] >= SPI_MIN);
    for (unsigned i = 1; i < N * ROUNDS; i++)
        CU_ASSERT_NOT_EQUAL(all[i], all[i - 1]);
    spi_pool_free(p);
}

static void test_spi_hour(void)
{
    struct spi_pool *p;
    uint32_t spi;
    CU_ASSERT_EQUAL_FATAL(spi_pool_new(&p, NULL), 0);
    CU_ASSERT_EQUAL(spi_take(p, &spi, 1, T0, NULL), 0);
    CU_ASSERT_EQUAL(spi_count(p, T0 + 100 * 3600 * NS_PER_S), 1); /* in use: no matter how long */
    spi_release(p, spi, T0);
    CU_ASSERT_EQUAL(spi_count(p, T0 + 3599 * NS_PER_S), 1);
    CU_ASSERT_EQUAL(spi_count(p, T0 + 3600 * NS_PER_S), 0);
    CU_ASSERT_EQUAL(spi_adopt(p, 4711, NULL), 0);
    CU_ASSERT_EQUAL(spi_adopt(p, 4711, NULL), 0);
    CU_ASSERT_EQUAL(spi_count(p, T0 + 3600 * NS_PER_S), 1);
    spi_release(p, 99999, T0);
    spi_release(p, 0, T0);
    /* what has ended goes when the table is rebuilt */
    for (unsigned i = 0; i < 200; i++) {
        uint32_t some[50];
        uint64_t now = T0 + i * 3601 * NS_PER_S;
        CU_ASSERT_EQUAL_FATAL(spi_take(p, some, 50, now, NULL), 0);
        for (unsigned j = 0; j < 50; j++)
            spi_release(p, some[j], now);
    }
    CU_ASSERT(spi_count(p, T0 + 200 * 3601 * NS_PER_S) <= 51);
    spi_pool_free(p);
}

/* What a removed link had, in its SAs and in an exchange under way, is reserved for the hour only.
 */
static void test_spi_of_removed_link(void)
{
    struct keying_core core = {0};
    CU_ASSERT_EQUAL_FATAL(evloop_new(&core.loop, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(spi_pool_new(&core.spis, NULL), 0);
    const struct config_link cfg = {.tunnels = 8};
    uint64_t now = evloop_now(core.loop);
    struct keylink *l;
    CU_ASSERT_EQUAL_FATAL(keylink_new(&core, &cfg, 1438, &l, NULL), 0);
    for (uint64_t epoch = 1; epoch <= 2; epoch++) {
        struct sa_epoch *ep = sa_set_add(&l->sas, epoch, now);
        CU_ASSERT_PTR_NOT_NULL_FATAL(ep);
        CU_ASSERT_EQUAL(spi_take(core.spis, ep->spi_in, 8, now, NULL), 0);
    }
    l->exchanging = true;
    l->x.terms.n = 8;
    CU_ASSERT_EQUAL(spi_take(core.spis, l->x.terms.spi, 8, now, NULL), 0);
    CU_ASSERT_EQUAL(spi_count(core.spis, now + 2 * SPI_REUSE_NS), 24);
    keylink_free(l);
    now = evloop_now(core.loop);
    CU_ASSERT_EQUAL(spi_count(core.spis, now), 24);
    CU_ASSERT_EQUAL(spi_count(core.spis, now + SPI_REUSE_NS), 0);
    spi_pool_free(core.spis);
    evloop_free(core.loop);
}

static struct sa_epoch *add(struct sa_set *s, uint64_t epoch)
{
    struct sa_epoch *e = sa_set_add(s, epoch, T0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(e);
    e->in = e->out = 8;
    return e;
}

static void test_sa_set_switch(void)
{
    struct sa_set s = {0};
    (void)add(&s, 1);
    CU_ASSERT_EQUAL(sa_set_pending(&s)->epoch, 1);
    sa_set_switch(&s, 1, T0);
    CU_ASSERT_EQUAL(sa_set_active(&s)->epoch, 1);
    CU_ASSERT_PTR_NULL(sa_set_pending(&s));
    CU_ASSERT_PTR_NULL(sa_set_add(&s, 1, T0)); /* epochs only rise */
    (void)add(&s, 2);
    sa_set_switch(&s, 2, T0);
    CU_ASSERT_PTR_NULL(sa_set_due(&s, T0 + 30 * NS_PER_S - 1));
    CU_ASSERT_EQUAL(sa_set_due(&s, T0 + 30 * NS_PER_S)->epoch, 1);
    sa_set_peer_deleted(&s, 1, T0 + NS_PER_S);
    CU_ASSERT_EQUAL(sa_set_next_ns(&s), T0 + 2 * NS_PER_S);
    CU_ASSERT_EQUAL(sa_set_due(&s, T0 + 2 * NS_PER_S)->epoch, 1);
    sa_set_remove(&s, 1);
    sa_set_peer_deleted(&s, 99, T0); /* the newest stays, whatever the peer says */
    CU_ASSERT_EQUAL(sa_set_next_ns(&s), SA_NO_END);
    sa_set_clear(&s);
    CU_ASSERT_EQUAL(s.highest, 2);
}

/* DELETE may come before this end has switched: the peer doesn't send by the old epoch any more. */
static void test_sa_set_early_delete(void)
{
    struct sa_set s = {0};
    (void)add(&s, 1);
    sa_set_switch(&s, 1, T0);
    (void)add(&s, 2);
    sa_set_peer_deleted(&s, 1, T0);
    sa_set_switch(&s, 2, T0);
    CU_ASSERT_EQUAL(sa_set_next_ns(&s), T0 + NS_PER_S);
}

static void test_sa_set_surplus(void)
{
    struct sa_set s = {0};
    (void)add(&s, 1);
    sa_set_switch(&s, 1, T0);
    (void)add(&s, 2);
    CU_ASSERT_PTR_NULL(sa_set_surplus(&s));
    (void)add(&s, 3);
    CU_ASSERT_EQUAL(sa_set_surplus(&s)->epoch, 2); /* never the active one */
    sa_set_switch(&s, 2, T0);
    CU_ASSERT_EQUAL(sa_set_surplus(&s)->epoch, 1);
    sa_set_remove(&s, 1);
    CU_ASSERT_PTR_NULL(sa_set_surplus(&s));
}

static struct dp_dump_sa dumped(const struct hw_id *link, uint64_t epoch, unsigned tunnel,
                                enum dp_direction direction, bool active)
{
    return (struct dp_dump_sa){.link = *link,
                               .epoch = epoch,
                               .age_ns = 10 * NS_PER_S,
                               .spi = (uint32_t)(1000 * epoch + tunnel),
                               .tunnel = (uint16_t)tunnel,
                               .direction = (uint8_t)direction,
                               .suite = ESP_SUITE_AES_256_GCM,
                               .active = active,
                               .esn = 1};
}

static void test_sa_set_adopt(void)
{
    struct hw_id link = {.b = {1}}, other = {.b = {2}};
    struct dp_dump_sa sas[32];
    size_t n = 0;
    for (unsigned t = 0; t < 2; t++) {
        sas[n++] = dumped(&link, 6, t, DP_DIR_IN, t == 0);
        sas[n++] = dumped(&link, 6, t, DP_DIR_OUT, t == 0); /* one tunnel has switched */
        sas[n++] = dumped(&link, 5, t, DP_DIR_OUT, true);
        sas[n++] = dumped(&link, 5, t, DP_DIR_IN, true);
        sas[n++] = dumped(&link, 4, t, DP_DIR_IN, true);
        sas[n++] = dumped(&other, 9, t, DP_DIR_IN, true);
    }
    struct sa_set s = {0};
    sa_set_adopt(&s, &link, sas, n, T0);
    CU_ASSERT_EQUAL(s.n, 3);
    CU_ASSERT_EQUAL(s.highest, 6);
    CU_ASSERT_EQUAL(sa_set_active(&s)->epoch, 5);
    CU_ASSERT_EQUAL(sa_set_active(&s)->installed_ns, T0 - 10 * NS_PER_S);
    CU_ASSERT_EQUAL(sa_set_pending(&s)->epoch, 6);
    CU_ASSERT_TRUE(sa_set_pending(&s)->confirmed);
    CU_ASSERT_EQUAL(sa_set_find(&s, 6)->spi_in[1], 6001);
    CU_ASSERT_EQUAL(sa_set_next_ns(&s), T0 + 30 * NS_PER_S); /* epoch 4 */
    sa_set_adopt(&s, &link, NULL, 0, T0);
    CU_ASSERT_EQUAL(s.n, 0);
    CU_ASSERT_EQUAL(s.highest, 6);
    /* more epochs than there is room for: the newest stay */
    for (n = 0; n < 20; n++)
        sas[n] = dumped(&link, n + 1, 0, DP_DIR_IN, true);
    sa_set_adopt(&s, &link, sas, n, T0);
    CU_ASSERT_EQUAL(s.n, SA_SET_MAX);
    CU_ASSERT_EQUAL(s.e[SA_SET_MAX - 1].epoch, 20);
    CU_ASSERT_EQUAL(s.e[0].epoch, 21 - SA_SET_MAX);
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite s = CU_add_suite("rekey", NULL, NULL);
    CU_add_test(s, "soft limit's spread", test_soft_jitter);
    CU_add_test(s, "limits", test_limits);
    CU_add_test(s, "back-off and alarm", test_backoff);
    CU_add_test(s, "pace of the hurried", test_pace);
    CU_add_test(s, "a suspicion withdrawn", test_suspicion);
    CU_add_test(s, "adopted age", test_adopted);
    CU_add_test(s, "SPIs are unique", test_spi_unique);
    CU_add_test(s, "SPIs rest an hour", test_spi_hour);
    CU_add_test(s, "SPIs of a removed link rest an hour", test_spi_of_removed_link);
    CU_add_test(s, "switch and end of the old", test_sa_set_switch);
    CU_add_test(s, "early DELETE", test_sa_set_early_delete);
    CU_add_test(s, "three inbound", test_sa_set_surplus);
    CU_add_test(s, "adoption", test_sa_set_adopt);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed != 0;
}
