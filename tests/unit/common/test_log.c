#include "common/clock.h"
#include "common/log.h"
#include "tests/unit/suite.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char got[8192];

/* Runs fn with standard error in a pipe and leaves what it wrote in got[]. */
static void capture(void (*fn)(void))
{
    int ends[2], saved = dup(STDERR_FILENO);
    if (pipe2(ends, O_NONBLOCK) != 0 || dup2(ends[1], STDERR_FILENO) < 0)
        abort();
    fn();
    ssize_t n = read(ends[0], got, sizeof got - 1);
    got[n > 0 ? n : 0] = '\0';
    (void)dup2(saved, STDERR_FILENO);
    (void)close(saved);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void forge(void)
{
    log_info("name=%s", "x\n<0>forged\x7f\033[2J");
}

static void test_control_characters(void)
{
    (void)setenv("HAWSER_LOG_PREFIX", "1", 1);
    log_init("agent", LOG_LEVEL_INFO);
    capture(forge);
    CU_ASSERT_STRING_EQUAL(got, "<6>agent: name=x\\x0a<0>forged\\x7f\\x1b[2J\n");
}

static void all_levels(void)
{
    log_error("a");
    log_warn("b");
    log_info("c");
    log_debug("d");
}

static void test_levels(void)
{
    (void)setenv("HAWSER_LOG_PREFIX", "1", 1);
    log_init("agent", LOG_LEVEL_WARN);
    capture(all_levels);
    CU_ASSERT_STRING_EQUAL(got, "<3>agent: a\n<4>agent: b\n");
    log_set_level(LOG_LEVEL_DEBUG);
    capture(all_levels);
    CU_ASSERT_STRING_EQUAL(got, "<3>agent: a\n<4>agent: b\n<6>agent: c\n<7>agent: d\n");
}

static void test_for_people(void)
{
    int64_t when;
    char time[21];
    (void)unsetenv("HAWSER_LOG_PREFIX");
    (void)unsetenv("JOURNAL_STREAM");
    log_init("agent", LOG_LEVEL_ERROR);
    capture(all_levels);
    CU_ASSERT_STRING_EQUAL(got + 20, " agent error: a\n");
    memcpy(time, got, 20);
    time[20] = '\0';
    CU_ASSERT_EQUAL(clock_parse(time, &when), 0);
}

static void long_line(void)
{
    char text[5000];
    memset(text, '\n', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_error("%s", text);
}

static void test_long_line(void)
{
    log_init("agent", LOG_LEVEL_ERROR);
    capture(long_line);
    size_t len = strlen(got);
    CU_ASSERT(len > 2000 && len <= 2048);
    CU_ASSERT_PTR_EQUAL(strchr(got, '\n'), got + len - 1);
}

static void test_limit(void)
{
    struct log_limit l = {0};
    uint64_t suppressed = 99;
    CU_ASSERT_TRUE(log_limit_pass(&l, 5, &suppressed));
    CU_ASSERT_EQUAL(suppressed, 0);
    CU_ASSERT_FALSE(log_limit_pass(&l, 6, &suppressed));
    CU_ASSERT_FALSE(log_limit_pass(&l, 5 + 60 * NS_PER_S - 1, &suppressed));
    CU_ASSERT_TRUE(log_limit_pass(&l, 5 + 60 * NS_PER_S, &suppressed));
    CU_ASSERT_EQUAL(suppressed, 2);
    CU_ASSERT_TRUE(log_limit_pass(&l, 5 + 120 * NS_PER_S, &suppressed));
    CU_ASSERT_EQUAL(suppressed, 0);
}

static void refuse_thrice(void)
{
    for (int i = 0; i < 3; i++)
        log_warn_limited("refused n=%d", i);
}

static void test_limited_lines(void)
{
    (void)setenv("HAWSER_LOG_PREFIX", "1", 1);
    log_init("agent", LOG_LEVEL_INFO);
    capture(refuse_thrice);
    CU_ASSERT_STRING_EQUAL(got, "<4>agent: refused n=0\n");
}

int main(void)
{
    CU_TestInfo tests[] = {{"control characters", test_control_characters},
                           {"levels", test_levels},
                           {"for people", test_for_people},
                           {"long line", test_long_line},
                           {"limit", test_limit},
                           {"limited lines", test_limited_lines},
                           CU_TEST_INFO_NULL};
    return suite_run("log", tests);
}
