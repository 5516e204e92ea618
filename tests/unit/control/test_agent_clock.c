#include "agent/control/agent_clock.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/hawser-clock-XXXXXX";
static char path[64];

static struct agent_clock *make(const char *stored)
{
    struct agent_clock *c;
    int rc =
        stored ? fsutil_write(path, stored, strlen(stored), 0600, NULL) : fsutil_remove(path, NULL);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    CU_ASSERT_EQUAL_FATAL(agent_clock_new(dir, &c, NULL), 0);
    return c;
}

static long long on_disk(void)
{
    char *text;
    size_t len;
    if (fsutil_read(path, 64, &text, &len, NULL) < 0)
        return 0;
    long long v = atoll(text);
    free(text);
    return v;
}

static void test_sources(void)
{
    char text[32];
    struct agent_clock *c = make(NULL);
    CU_ASSERT_STRING_EQUAL(agent_clock_source(c), "wall"); /* this machine's is after the build */
    CU_ASSERT(agent_clock_trusted(c));
    agent_clock_free(c);
    /* A wall clock that says less than what was known before is not believed. */
    int64_t future = clock_wall_s() + 1000;
    (void)snprintf(text, sizeof text, "%lld\n", (long long)future);
    c = make(text);
    CU_ASSERT_STRING_EQUAL(agent_clock_source(c), "stored");
    CU_ASSERT(!agent_clock_trusted(c));
    CU_ASSERT_EQUAL(agent_clock_now(c), future);
    agent_clock_set(c, future + 5000);
    CU_ASSERT_STRING_EQUAL(agent_clock_source(c), "controller");
    CU_ASSERT(agent_clock_trusted(c));
    CU_ASSERT(agent_clock_now(c) >= future + 5000 && agent_clock_now(c) < future + 5010);
    CU_ASSERT(agent_clock_skew(c) < -5990 + 1 && agent_clock_skew(c) > -6010);
    CU_ASSERT_EQUAL(on_disk(), future + 5000);
    /* Not each exchange is worth a write. */
    agent_clock_set(c, future + 5100);
    CU_ASSERT_EQUAL(on_disk(), future + 5000);
    agent_clock_set(c, future + 5601);
    CU_ASSERT(on_disk() >= future + 5601);
    agent_clock_free(c);
}

static void test_damage(void)
{
    static const char *const texts[] = {"", "x", "-5\n", "99999999999999999999\n", "12 34"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct agent_clock *c = make(texts[i]);
        CU_ASSERT_STRING_EQUAL(agent_clock_source(c), "wall");
        agent_clock_free(c);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"wall, stored, controller", test_sources},
        {"a damaged file", test_damage},
        CU_TEST_INFO_NULL,
    };
    if (!mkdtemp(dir))
        return 2;
    (void)snprintf(path, sizeof path, "%s/clock", dir);
    int rc = suite_run("agent_clock", tests);
    (void)unlink(path);
    (void)rmdir(dir);
    return rc;
}
