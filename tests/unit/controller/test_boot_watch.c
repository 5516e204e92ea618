#include "common/clock.h"
#include "controller/telemetry/boot_watch.h"
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
    struct boot_watch *w = boot_watch_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    for (size_t i = 0; i < n; i++) {
        struct hw_id gateway = id(steps[i].gateway), boot = id(steps[i].boot);
        uint64_t now = steps[i].at_s * NS_PER_S;
        if (steps[i].boot)
            boot_watch_seen(w, &gateway, &boot, now);
        CU_ASSERT_EQUAL(boot_watch_cloned(w, &gateway, now), steps[i].cloned);
    }
    boot_watch_free(w);
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
    struct boot_watch *w = boot_watch_new();
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    struct hw_id gateway = id(1), a = id(1), b = id(2);
    boot_watch_seen(w, &gateway, &a, 0);
    boot_watch_seen(w, &gateway, &b, 1);
    boot_watch_forget(w, &gateway);
    boot_watch_seen(w, &gateway, &a, 2);
    CU_ASSERT_FALSE(boot_watch_cloned(w, &gateway, 3));
    boot_watch_free(w);
    boot_watch_free(NULL);
}

int main(void)
{
    CU_TestInfo tests[] = {{"reboots", test_reboots},
                           {"two machines alive", test_two_alive},
                           {"forgotten at enrolment", test_forget},
                           CU_TEST_INFO_NULL};
    return suite_run("boot watch", tests);
}
