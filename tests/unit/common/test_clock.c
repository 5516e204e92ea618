#include "common/clock.h"
#include "common/err.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <time.h>

#define DAY 86400ll

/* The C library's own calendar judges ours, over 400 years and beyond, forth and back. */
static void test_against_libc(void)
{
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        time_t t = (time_t)(state >> 28) % 253402300800ll;
        if (i % 3 == 0)
            t = -(t % 62167219200ll);
        struct tm tm;
        char want[64], got[CLOCK_TEXT_MAX];
        int64_t back;
        (void)gmtime_r(&t, &tm);
        (void)snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
                       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
        CU_ASSERT_STRING_EQUAL_FATAL(clock_text(t, got), want);
        CU_ASSERT_EQUAL_FATAL(clock_parse(want, &back), HW_OK);
        CU_ASSERT_EQUAL_FATAL(back, t);
    }
}

static void test_parse(void)
{
    int64_t t = 0;
    CU_ASSERT_EQUAL(clock_parse("1970-01-01T00:00:00Z", &t), HW_OK);
    CU_ASSERT_EQUAL(t, 0);
    CU_ASSERT_EQUAL(clock_parse("2024-02-29T12:00:00.123456Z", &t), HW_OK);
    CU_ASSERT_EQUAL(t, 1709208000);
    CU_ASSERT_EQUAL(clock_parse("2016-12-31T23:59:60Z", &t), HW_OK);
    CU_ASSERT_EQUAL(t, 1483228800);
    static const char *const bad[] = {
        "",
        "2024-02-29",
        "2024-02-29T12:00:00",
        "2024-02-29T12:00:00+00:00",
        "2024-02-29T12:00:00Zx",
        "2024-02-29T12:00:00.Z",
        "2023-02-29T12:00:00Z",
        "1900-02-29T12:00:00Z",
        "2024-13-01T12:00:00Z",
        "2024-00-01T12:00:00Z",
        "2024-04-31T12:00:00Z",
        "2024-04-00T12:00:00Z",
        "2024-04-30T24:00:00Z",
        "2024-04-30T12:60:00Z",
        "2024-04-30T12:00:61Z",
        "2024-4-30T12:00:00Z",
        " 2024-04-30T12:00:00Z",
        "-024-04-30T12:00:00Z",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(clock_parse(bad[i], &t), HW_EINVAL);
    CU_ASSERT_EQUAL(clock_parse(NULL, &t), HW_EINVAL);
    CU_ASSERT_EQUAL(t, 1483228800);
}

static void test_text_is_clamped(void)
{
    char out[CLOCK_TEXT_MAX];
    CU_ASSERT_STRING_EQUAL(clock_text(INT64_MAX, out), "9999-12-31T23:59:59Z");
    CU_ASSERT_STRING_EQUAL(clock_text(INT64_MIN, out), "0000-01-01T00:00:00Z");
}

static void test_trusted_without_controller(void)
{
    struct trusted_clock c;
    const int64_t build = 1000 * DAY, stored = 1100 * DAY;
    trusted_clock_init(&c, 0, build);
    CU_ASSERT_EQUAL(trusted_clock_now(&c, build + 5, 0), build + 5);
    CU_ASSERT_EQUAL(trusted_clock_now(&c, build - 1, 0), build); /* the machine thinks it is 1970 */
    CU_ASSERT_EQUAL(trusted_clock_now(&c, build + 400 * DAY, 0), build + 400 * DAY);
    CU_ASSERT_EQUAL(trusted_clock_now(&c, build + 400 * DAY + 1, 0), build);
    trusted_clock_init(&c, stored, build);
    CU_ASSERT_EQUAL(trusted_clock_now(&c, build + DAY, 0), stored);
    CU_ASSERT_EQUAL(trusted_clock_now(&c, stored + DAY, 0), stored + DAY);
    CU_ASSERT_EQUAL(trusted_clock_skew(&c, 0, 0), -stored);
}

static void test_trusted_with_controller(void)
{
    struct trusted_clock c;
    trusted_clock_init(&c, 500 * DAY, 400 * DAY);
    CU_ASSERT(trusted_clock_set(&c, 600 * DAY, 10 * NS_PER_S));
    CU_ASSERT_EQUAL(c.stored_s, 600 * DAY);
    CU_ASSERT_EQUAL(trusted_clock_now(&c, 0, 10 * NS_PER_S), 600 * DAY);
    CU_ASSERT_EQUAL(trusted_clock_now(&c, 0, 17 * NS_PER_S), 600 * DAY + 7);
    CU_ASSERT_EQUAL(trusted_clock_skew(&c, 600 * DAY + 4000, 10 * NS_PER_S), 4000);
    /* Followed, but an older time is not stored. */
    CU_ASSERT(trusted_clock_set(&c, 599 * DAY, 20 * NS_PER_S));
    CU_ASSERT_EQUAL(trusted_clock_now(&c, 0, 20 * NS_PER_S), 599 * DAY);
    CU_ASSERT_EQUAL(c.stored_s, 600 * DAY);
}

/* A controller whose clock has gone mad must not take the fleet with it, nor leave its time on
 * disk. */
static void test_trusted_with_broken_controller(void)
{
    struct trusted_clock c;
    trusted_clock_init(&c, 500 * DAY, 400 * DAY);
    CU_ASSERT(trusted_clock_set(&c, 600 * DAY, 10 * NS_PER_S));
    CU_ASSERT_FALSE(trusted_clock_set(&c, 0, 20 * NS_PER_S));
    CU_ASSERT_FALSE(trusted_clock_set(&c, 399 * DAY, 20 * NS_PER_S));
    CU_ASSERT_FALSE(trusted_clock_set(&c, 1001 * DAY, 20 * NS_PER_S));
    CU_ASSERT_FALSE(trusted_clock_set(&c, INT64_MAX, 20 * NS_PER_S));
    CU_ASSERT_EQUAL(c.stored_s, 600 * DAY);
    CU_ASSERT_EQUAL(trusted_clock_now(&c, 0, 20 * NS_PER_S), 600 * DAY + 10);
    CU_ASSERT(trusted_clock_set(&c, 1000 * DAY, 30 * NS_PER_S));
    CU_ASSERT_EQUAL(trusted_clock_now(&c, 0, 30 * NS_PER_S), 1000 * DAY);
}

static void test_monotonic(void)
{
    uint64_t a = clock_mono_ns(), b = clock_mono_ns();
    CU_ASSERT(b >= a && a > 0);
    CU_ASSERT(clock_wall_s() > 1700000000);
}

int main(void)
{
    CU_TestInfo tests[] = {{"against libc", test_against_libc},
                           {"parse", test_parse},
                           {"text is clamped", test_text_is_clamped},
                           {"trusted without controller", test_trusted_without_controller},
                           {"trusted with controller", test_trusted_with_controller},
                           {"controller with a broken clock", test_trusted_with_broken_controller},
                           {"monotonic", test_monotonic},
                           CU_TEST_INFO_NULL};
    return suite_run("clock", tests);
}
