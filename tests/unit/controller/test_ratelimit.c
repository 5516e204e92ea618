#include "common/clock.h"
#include "controller/auth/ratelimit.h"
#include "tests/unit/suite.h"
#include <stdio.h>

static struct ipaddr ip(const char *text)
{
    struct ipaddr a = {0};
    CU_ASSERT_EQUAL_FATAL(ipaddr_parse(text, &a), 0);
    return a;
}

static void test_burst_and_recovery(void)
{
    struct ratelimit *r = ratelimit_new();
    struct ipaddr a = ip("192.0.2.1"), b = ip("192.0.2.2");
    uint64_t now = 1000 * NS_PER_S;
    for (int i = 0; i < RATELIMIT_BURST; i++) {
        CU_ASSERT_TRUE(ratelimit_allows(r, &a, now));
        ratelimit_failed(r, &a, now);
    }
    CU_ASSERT_FALSE(ratelimit_allows(r, &a, now));
    CU_ASSERT_FALSE(ratelimit_allows(r, &a, now - 1)); /* another thread's time, taken earlier */
    CU_ASSERT_FALSE(ratelimit_allows(r, &a, now));
    CU_ASSERT_TRUE(ratelimit_allows(r, &b, now));
    CU_ASSERT_FALSE(ratelimit_allows(r, &a, now + NS_PER_S / 2));
    CU_ASSERT_TRUE(ratelimit_allows(r, &a, now + 3 * NS_PER_S / 2));
    ratelimit_free(r);
}

static void test_ipv6_counts_by_network(void)
{
    struct ratelimit *r = ratelimit_new();
    struct ipaddr other = ip("2001:db8:0:2::1");
    char text[64];
    for (int i = 0; i < RATELIMIT_BURST; i++) {
        (void)snprintf(text, sizeof text, "2001:db8:0:1::%x", i + 1);
        struct ipaddr a = ip(text);
        ratelimit_failed(r, &a, 5);
    }
    struct ipaddr fresh = ip("2001:db8:0:1:ffff::1");
    CU_ASSERT_FALSE(ratelimit_allows(r, &fresh, 5));
    CU_ASSERT_TRUE(ratelimit_allows(r, &other, 5));
    ratelimit_free(r);
}

/* A flood of addresses with one failure each does not make the worst one forgotten. */
static void test_flood(void)
{
    struct ratelimit *r = ratelimit_new();
    struct ipaddr worst = ip("198.51.100.7");
    for (int i = 0; i < RATELIMIT_BURST + 5; i++)
        ratelimit_failed(r, &worst, 9);
    for (unsigned i = 0; i < 200000; i++) {
        struct ipaddr a = {.family = 4,
                           .b = {10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i}};
        ratelimit_failed(r, &a, 9);
    }
    CU_ASSERT_FALSE(ratelimit_allows(r, &worst, 9));
    ratelimit_free(r);
    ratelimit_free(NULL);
}

static CU_TestInfo tests[] = {
    {"burst and recovery", test_burst_and_recovery},
    {"IPv6 by /64", test_ipv6_counts_by_network},
    {"flood of addresses", test_flood},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return suite_run("ratelimit", tests);
}
