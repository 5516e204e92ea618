#include "common/clock.h"
#include "controller/telemetry/gateway_watch.h"
#include "tests/unit/suite.h"

static struct hw_id id(uint8_t number)
{
    struct hw_id i = {{0}};
    i.b[0] = number;
    return i;
}

struct step {
    uint8_t gateway, boot;
    unsigned at_s;
    int cloned; /* of that gateway, afterwards */
};

static void run(const struct step *steps, size_t n)
{
    struct gateway_watch *w = gateway_watch_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    for (size_t i = 0; i < n; i++) {
        struct hw_id gateway = id(steps[i].gateway), boot = id(steps[i].boot);
        uint64_t now = steps[i].at_s * NS_PER_S;
        if (steps[i].boot)
            gateway_watch_boot(w, &gateway, &boot, now);
        CU_ASSERT_EQUAL(gateway_watch_cloned(w, &gateway, now), steps[i].cloned);
    }
    gateway_watch_free(w);
}

static void test_reboots(void)
{
    static const struct step steps[] = {{1, 1, 0, 0},  {1, 1, 10, 0}, {1, 2, 20, 0},
                                        {1, 2, 30, 0}, {1, 3, 40, 0}, {2, 1, 50, 0}};
    run(steps, sizeof steps / sizeof *steps);
}

static void test_two_alive(void)
{
    static const struct step steps[] = {{1, 1, 0, 0},   {1, 2, 1, 0},   {1, 1, 2, 1},
                                        {2, 0, 2, 0},   {1, 2, 100, 1}, {1, 1, 200, 1},
                                        {1, 1, 799, 1}, /* 600 s after the last sign … */
                                        {1, 1, 801, 0}};
    run(steps, sizeof steps / sizeof *steps);
}

static void test_forget(void)
{
    struct gateway_watch *w = gateway_watch_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    struct hw_id gateway = id(1), a = id(1), b = id(2);
    gateway_watch_boot(w, &gateway, &a, 0);
    gateway_watch_boot(w, &gateway, &b, 1);
    gateway_watch_forget(w, &gateway);
    gateway_watch_boot(w, &gateway, &a, 2);
    CU_ASSERT_FALSE(gateway_watch_cloned(w, &gateway, 3));
    gateway_watch_free(w);
    gateway_watch_free(NULL);
}

/* Three at once, then one a minute; a minute of rest is worth one. */
static void test_restless(void)
{
    static const struct {
        unsigned at_s;
        bool may, restless;
    } steps[] = {{0, true, false},  {1, true, false},  {2, true, false},  {3, false, true},
                 {59, false, true}, {60, true, true},  {61, false, true}, {119, false, true},
                 {120, true, true}, {300, true, true}, {718, true, true}, /* 600 s after the last */
                 {720, true, false}};
    struct gateway_watch *w = gateway_watch_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    struct hw_id gateway = id(1), other = id(2), boot = id(3);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        uint64_t now = (1000 + steps[i].at_s) * NS_PER_S;
        CU_ASSERT_EQUAL(gateway_watch_plan(w, &gateway, now), steps[i].may);
        CU_ASSERT_EQUAL(gateway_watch_restless(w, &gateway, now), steps[i].restless);
        CU_ASSERT_FALSE(gateway_watch_restless(w, &other, now));
    }
    gateway_watch_boot(w, &other, &boot, 0);
    CU_ASSERT_TRUE(gateway_watch_plan(w, &other, 0));
    CU_ASSERT_FALSE(gateway_watch_cloned(w, &other, 0));
    gateway_watch_free(w);
}

int main(void)
{
    CU_TestInfo tests[] = {{"reboots", test_reboots},
                           {"two machines alive", test_two_alive},
                           {"forgotten at enrolment", test_forget},
                           {"restless", test_restless},
                           CU_TEST_INFO_NULL};
    return suite_run("gateway watch", tests);
}
