#include "agent/dataplane/options.h"
#include "tests/unit/dataplane/packet_test.h"
#include <unistd.h>

static int parse(struct options *o, const char *a, const char *b)
{
    char *argv[] = {"hawser-dataplane", (char *)(uintptr_t)a, (char *)(uintptr_t)b, NULL};
    struct err e = {0};
    return options_parse(o, a ? b ? 3 : 2 : 1, argv, &e);
}

static void test_defaults(void)
{
    struct options o;
    CU_ASSERT_EQUAL_FATAL(parse(&o, NULL, NULL), 0);
    CU_ASSERT_STRING_EQUAL(o.socket, "/run/hawser/dataplane.sock");
    CU_ASSERT_EQUAL(o.agent_uid, geteuid());
    CU_ASSERT_EQUAL(o.socket_gid, (gid_t)-1);
    CU_ASSERT_TRUE(o.sandbox);
    CU_ASSERT_EQUAL(o.engine.workers, 0);
    CU_ASSERT_EQUAL(o.engine.first_core, 0);
    CU_ASSERT_STRING_EQUAL(o.engine.provider, "auto");
    CU_ASSERT_FALSE(o.engine.no_gso || o.engine.no_gro || o.engine.no_tun_offload);
}

static void test_values(void)
{
    struct options o;
    CU_ASSERT_EQUAL(parse(&o, "--workers", "64"), 0);
    CU_ASSERT_EQUAL(o.engine.workers, 64);
    CU_ASSERT_EQUAL(parse(&o, "--first-core", "1023"), 0);
    CU_ASSERT_EQUAL(o.engine.first_core, 1023);
    CU_ASSERT_EQUAL(parse(&o, "--agent-uid=990", NULL), 0);
    CU_ASSERT_EQUAL(o.agent_uid, 990);
    CU_ASSERT_EQUAL(parse(&o, "--log-level", "debug"), 0);
    CU_ASSERT_EQUAL(o.log_level, LOG_LEVEL_DEBUG);
    CU_ASSERT_EQUAL(parse(&o, "--no-sandbox", NULL), 0);
    CU_ASSERT_FALSE(o.sandbox);
    CU_ASSERT_EQUAL(parse(&o, "--without", "udp_gro,tun_offload"), 0);
    CU_ASSERT_TRUE(!o.engine.no_gso && o.engine.no_gro && o.engine.no_tun_offload);
}

static void test_refusals(void)
{
    static const char *const bad[][2] = {
        {"--workers", "65"},      {"--workers", "-1"},           {"--workers", "2x"},
        {"--workers", ""},        {"--workers", NULL},           {"--agent-uid", "root"},
        {"--log-level", "all"},   {"--without", "udp"},          {"--unknown", NULL},
        {"word", NULL},           {"--agent-uid", "4294967295"}, {"--without", "udp_gso,,udp_gro"},
        {"--first-core", "1024"}, {"--first-core", "-1"},
    };
    struct options o;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(parse(&o, bad[i][0], bad[i][1]), HW_EINVAL);
}

int main(void)
{
    CU_TestInfo tests[] = {{"defaults", test_defaults},
                           {"values", test_values},
                           {"refusals", test_refusals},
                           CU_TEST_INFO_NULL};
    return packet_test_run("options", tests);
}
