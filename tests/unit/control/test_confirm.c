/* The rule of confirmed apply, as a table of what happens and what must follow. */
#include "agent/control/confirm.h"
#include <CUnit/Basic.h>

#define S 1000000000ull

static void test_exchange_confirms(void)
{
    struct confirm c = {0};
    confirm_applied(&c, 100 * S, 60 * S, true);
    CU_ASSERT_EQUAL(confirm_exchange(&c, 101 * S), CONFIRM_DO);
    CU_ASSERT(!c.waiting);
    /* Once. */
    CU_ASSERT_EQUAL(confirm_exchange(&c, 102 * S), CONFIRM_NOTHING);
    confirm_failure(&c, 103 * S, false);
    CU_ASSERT_EQUAL(confirm_tick(&c, 1000 * S), CONFIRM_NOTHING);
    CU_ASSERT_EQUAL(confirm_deadline(&c), 0);
}

static void test_older_exchange_says_nothing(void)
{
    struct confirm c = {0};
    confirm_applied(&c, 100 * S, 60 * S, true);
    CU_ASSERT_EQUAL(confirm_exchange(&c, 99 * S), CONFIRM_NOTHING);
    CU_ASSERT(c.waiting);
    confirm_failure(&c, 99 * S, true);
    confirm_failure(&c, 101 * S, false);
    CU_ASSERT_EQUAL(confirm_tick(&c, 160 * S), CONFIRM_ROLL_BACK);
}

static void test_silence_rolls_back(void)
{
    struct confirm c = {0};
    confirm_applied(&c, 100 * S, 60 * S, true);
    confirm_failure(&c, 110 * S, false);
    CU_ASSERT_EQUAL(confirm_deadline(&c), 160 * S);
    CU_ASSERT_EQUAL(confirm_tick(&c, 160 * S - 1), CONFIRM_NOTHING);
    CU_ASSERT_EQUAL(confirm_tick(&c, 160 * S), CONFIRM_ROLL_BACK);
    CU_ASSERT_EQUAL(confirm_tick(&c, 161 * S), CONFIRM_NOTHING);
}

/* Nobody has tried yet: that is no silence. */
static void test_no_attempt(void)
{
    struct confirm c = {0};
    confirm_applied(&c, 100 * S, 60 * S, true);
    CU_ASSERT_EQUAL(confirm_tick(&c, 500 * S), CONFIRM_NOTHING);
    confirm_failure(&c, 501 * S, false);
    CU_ASSERT_EQUAL(confirm_tick(&c, 502 * S), CONFIRM_ROLL_BACK);
}

static void test_reset_is_an_answer(void)
{
    struct confirm c = {0};
    confirm_applied(&c, 100 * S, 60 * S, true);
    confirm_failure(&c, 101 * S, true);
    confirm_failure(&c, 120 * S, false); /* its machine is turned off later */
    CU_ASSERT_EQUAL(confirm_tick(&c, 500 * S), CONFIRM_NOTHING);
    CU_ASSERT(c.waiting);
    CU_ASSERT_EQUAL(confirm_exchange(&c, 600 * S), CONFIRM_DO);
}

static void test_silence_then_reset(void)
{
    struct confirm c = {0};
    confirm_applied(&c, 100 * S, 60 * S, true);
    confirm_failure(&c, 101 * S, false);
    confirm_failure(&c, 150 * S, true);
    CU_ASSERT_EQUAL(confirm_tick(&c, 160 * S), CONFIRM_NOTHING);
}

static void test_never_reachable_before(void)
{
    struct confirm c = {0};
    confirm_applied(&c, 100 * S, 60 * S, false);
    confirm_failure(&c, 101 * S, false);
    CU_ASSERT_EQUAL(confirm_deadline(&c), 0);
    CU_ASSERT_EQUAL(confirm_tick(&c, 500 * S), CONFIRM_NOTHING);
    CU_ASSERT_EQUAL(confirm_exchange(&c, 501 * S), CONFIRM_DO);
}

static void test_cancel(void)
{
    struct confirm c = {0};
    confirm_applied(&c, 100 * S, 60 * S, true);
    confirm_failure(&c, 101 * S, false);
    confirm_cancel(&c);
    CU_ASSERT_EQUAL(confirm_tick(&c, 500 * S), CONFIRM_NOTHING);
    /* A new candidate begins anew. */
    confirm_applied(&c, 600 * S, 5 * S, true);
    CU_ASSERT_EQUAL(confirm_tick(&c, 700 * S), CONFIRM_NOTHING);
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite s = CU_add_suite("confirm", NULL, NULL);
    CU_add_test(s, "an exchange confirms", test_exchange_confirms);
    CU_add_test(s, "one begun before the apply does not", test_older_exchange_says_nothing);
    CU_add_test(s, "silence rolls back", test_silence_rolls_back);
    CU_add_test(s, "without an attempt nothing is known", test_no_attempt);
    CU_add_test(s, "a reset is an answer", test_reset_is_an_answer);
    CU_add_test(s, "silence, then a reset", test_silence_then_reset);
    CU_add_test(s, "never reachable before", test_never_reachable_before);
    CU_add_test(s, "cancelled", test_cancel);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed != 0;
}
