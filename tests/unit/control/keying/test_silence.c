/* Keys by which nothing answers: when new ones are wanted, and how often at most. */
#include "agent/control/keying/silence.h"
#include "common/clock.h"
#include <CUnit/Basic.h>

#define T0       (1000 * NS_PER_S)
#define PATIENCE (9 * NS_PER_S)

static void test_patience(void)
{
    CU_ASSERT_EQUAL(silence_patience_ns(1000, 3), 9 * NS_PER_S);
    CU_ASSERT_EQUAL(silence_patience_ns(100, 3), 5 * NS_PER_S);
    CU_ASSERT_EQUAL(silence_patience_ns(0, 0), 5 * NS_PER_S);
    CU_ASSERT_EQUAL(silence_patience_ns(60000, 20), 3600 * NS_PER_S);
}

static void test_tunnels(void)
{
    struct silence s;
    silence_init(&s, T0);
    silence_switched(&s, 2, T0, 7);
    CU_ASSERT_EQUAL(silence_due_ns(&s, PATIENCE), T0 + PATIENCE);
    CU_ASSERT_FALSE(silence_tunnel(&s, 0, DP_TUNNEL_PROBING, T0));
    CU_ASSERT_TRUE(silence_tunnel(&s, 1, DP_TUNNEL_UP, T0));
    CU_ASSERT_FALSE(silence_tunnel(&s, 0, DP_TUNNEL_UP, T0));
    CU_ASSERT_EQUAL(silence_due_ns(&s, PATIENCE), SILENCE_NEVER);
    CU_ASSERT_FALSE(silence_lasts(&s, PATIENCE, UINT64_MAX));
    /* one tunnel that is up is enough */
    CU_ASSERT_FALSE(silence_tunnel(&s, 1, DP_TUNNEL_DOWN, T0 + 5));
    CU_ASSERT_EQUAL(silence_due_ns(&s, PATIENCE), SILENCE_NEVER);
    CU_ASSERT_FALSE(silence_tunnel(&s, 0, DP_TUNNEL_NO_SA, T0 + 10));
    CU_ASSERT_FALSE(silence_tunnel(&s, 0, DP_TUNNEL_DOWN, T0 + 20));
    CU_ASSERT_EQUAL(silence_due_ns(&s, PATIENCE), T0 + 10 + PATIENCE);
    CU_ASSERT_FALSE(silence_lasts(&s, PATIENCE, T0 + 9 + PATIENCE));
    CU_ASSERT_TRUE(silence_lasts(&s, PATIENCE, T0 + 10 + PATIENCE));
    CU_ASSERT_FALSE(silence_tunnel(&s, HW_TUNNELS_PER_LINK_MAX, DP_TUNNEL_UP, T0));
}

/* With the UDP path closed and TCP open every epoch succeeds and none helps. */
static void test_backoff(void)
{
    static const unsigned seconds[] = {0, 1, 2, 4, 8, 16, 32, 60, 60, 60};
    struct silence s;
    uint64_t now = T0;
    silence_init(&s, now);
    for (unsigned i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        silence_switched(&s, 8, now, 12345 * i);
        CU_ASSERT_EQUAL(s.epochs, i);
        CU_ASSERT_EQUAL(silence_alarm(&s), i >= 3);
        uint64_t wait = silence_due_ns(&s, PATIENCE) - now - PATIENCE;
        CU_ASSERT(wait >= seconds[i] * NS_PER_S * 4 / 5 && wait <= seconds[i] * NS_PER_S * 6 / 5);
        CU_ASSERT_TRUE(silence_lasts(&s, PATIENCE, now + PATIENCE));
        now = silence_due_ns(&s, PATIENCE);
    }
    CU_ASSERT_TRUE(silence_tunnel(&s, 3, DP_TUNNEL_UP, now));
    CU_ASSERT_FALSE(silence_alarm(&s));
    /* the next silence begins anew, and its first rekey is to blame for nothing */
    (void)silence_tunnel(&s, 3, DP_TUNNEL_DOWN, now);
    CU_ASSERT_EQUAL(silence_due_ns(&s, PATIENCE), now + PATIENCE);
    silence_switched(&s, 8, now, 1);
    CU_ASSERT_EQUAL(s.epochs, 0);
}

static void test_rekey_while_up(void)
{
    struct silence s;
    silence_init(&s, T0);
    silence_switched(&s, 8, T0, 1);
    (void)silence_tunnel(&s, 5, DP_TUNNEL_UP, T0);
    for (unsigned i = 0; i < 5; i++)
        silence_switched(&s, 8, T0 + i, 1);
    CU_ASSERT_EQUAL(s.epochs, 0);
    /* the only tunnel that was up is no more */
    silence_switched(&s, 4, T0 + 100, 1);
    CU_ASSERT_EQUAL(silence_due_ns(&s, PATIENCE), T0 + 100 + PATIENCE);
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite s = CU_add_suite("silence", NULL, NULL);
    CU_add_test(s, "patience", test_patience);
    CU_add_test(s, "tunnels", test_tunnels);
    CU_add_test(s, "back-off over epochs", test_backoff);
    CU_add_test(s, "rekey of a living link", test_rekey_while_up);
    CU_basic_set_mode(CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed != 0;
}
