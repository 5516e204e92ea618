#include "common/fsutil.h"
#include "common/settings.h"
#include "tests/unit/suite.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct config {
    char *state_dir;
    char *level;
    char *unset;
    struct settings_list listen;
    uint64_t threads;
    bool sandbox;
};

static const char *const levels[] = {"info", "debug", NULL};
static const struct settings_row rows[] = {
    {.key = "state_dir",
     .type = SETTINGS_STR,
     .offset = offsetof(struct config, state_dir),
     .fallback = "/var/lib/x"},
    {.key = "log_level",
     .type = SETTINGS_STR,
     .offset = offsetof(struct config, level),
     .fallback = "info",
     .words = levels},
    {.key = "unset", .type = SETTINGS_STR, .offset = offsetof(struct config, unset)},
    {.key = "listen",
     .type = SETTINGS_LIST,
     .offset = offsetof(struct config, listen),
     .fallback = "0.0.0.0:1,[::]:1"},
    {.key = "threads",
     .type = SETTINGS_UINT,
     .offset = offsetof(struct config, threads),
     .fallback = "2",
     .min = 1,
     .max = 64},
    {.key = "sandbox",
     .type = SETTINGS_BOOL,
     .offset = offsetof(struct config, sandbox),
     .fallback = "true"},
};
#define N_ROWS (sizeof rows / sizeof rows[0])

static char path[] = "/tmp/hawser-settings-XXXXXX";
static struct err e;
static struct config c;

static void file(const char *text)
{
    CU_ASSERT_EQUAL(fsutil_write(path, text, strlen(text), 0600, NULL), HW_OK);
}

static int load(const struct settings_flag *flags, size_t n)
{
    memset(&c, 0xa5, sizeof c); /* need not be initialised */
    return settings_load(rows, N_ROWS, path, true, flags, n, &c, &e);
}

static void test_defaults(void)
{
    file("{}");
    CU_ASSERT_EQUAL_FATAL(load(NULL, 0), HW_OK);
    CU_ASSERT_STRING_EQUAL(c.state_dir, "/var/lib/x");
    CU_ASSERT_PTR_NULL(c.unset);
    CU_ASSERT_EQUAL_FATAL(c.listen.n, 2);
    CU_ASSERT_STRING_EQUAL(c.listen.v[1], "[::]:1");
    CU_ASSERT_EQUAL(c.threads, 2);
    CU_ASSERT_TRUE(c.sandbox);
    settings_done(rows, N_ROWS, &c);
    CU_ASSERT_PTR_NULL(c.state_dir);
}

static void test_order(void)
{
    static const struct settings_flag flags[] = {{"threads", "9"}, {"threads", "10"}};
    file("{\"state_dir\":\"/file\",\"threads\":3,\"listen\":[\"a\"],\"sandbox\":false}");
    (void)setenv("HAWSER_THREADS", "4", 1);
    (void)setenv("HAWSER_STATE_DIR", "/env", 1);
    CU_ASSERT_EQUAL_FATAL(load(flags, 2), HW_OK);
    CU_ASSERT_EQUAL(c.threads, 10);
    CU_ASSERT_STRING_EQUAL(c.state_dir, "/env");
    CU_ASSERT_EQUAL(c.listen.n, 1);
    CU_ASSERT_FALSE(c.sandbox);
    settings_done(rows, N_ROWS, &c);
    CU_ASSERT_EQUAL_FATAL(load(NULL, 0), HW_OK);
    CU_ASSERT_EQUAL(c.threads, 4);
    settings_done(rows, N_ROWS, &c);
    (void)unsetenv("HAWSER_THREADS");
    (void)unsetenv("HAWSER_STATE_DIR");
}

static void refused(const char *text, const char *field, const char *words)
{
    file(text);
    e = (struct err){0};
    CU_ASSERT_EQUAL(load(NULL, 0), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, field);
    if (!strstr(e.text, words))
        (void)fprintf(stderr, "%s: %s\n", text, e.text);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, words));
    CU_ASSERT_EQUAL(strncmp(e.text, path, strlen(path)), 0);
    CU_ASSERT_PTR_NULL(c.state_dir);
}

static void test_errors_name_line_and_key(void)
{
    refused("{\n \"threads\": 2,\n \"treads\": 2\n}", "treads", "line 3: unknown key \"treads\"");
    refused("{\n \"threads\": 0\n}", "threads", "line 2: threads: must be from 1 to 64");
    refused("{\n\n \"threads\" : \"2\"}", "threads", "line 3: threads: an integer is expected");
    refused("{\"listen\":[\"a\",1]}", "listen", "line 1: listen: a string is expected");
    refused("{\"listen\":\"a\"}", "listen", "an array is expected");
    refused("{\"log_level\":\"loud\"}", "log_level",
            "line 1: log_level: is none of the words allowed");
    refused("{\"sandbox\":1}", "sandbox", "true or false is expected");
    refused("{\"state_dir\":null}", "state_dir", "a string is expected");
    refused("{\n\"threads\":2,\n}", "", "line 3, column 1");
    refused("[]", "", "an object is expected");
    refused("{\"threads\":2,\"threads\":3}", "", "twice");
}

static void test_environment_and_flags_are_checked(void)
{
    static const struct settings_flag flags[] = {{"threads", "65"}};
    file("{}");
    CU_ASSERT_EQUAL(load(flags, 1), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.text, "flag: threads: must be from 1 to 64");
    static const char *const bad[] = {"", "x", "-1", " 2", "2 ", "0x2", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)setenv("HAWSER_THREADS", bad[i], 1);
        CU_ASSERT_EQUAL(load(NULL, 0), HW_EINVAL);
        CU_ASSERT_EQUAL(strncmp(e.text, "HAWSER_THREADS: threads: ", 25), 0);
    }
    (void)unsetenv("HAWSER_THREADS");
    (void)setenv("HAWSER_SANDBOX", "yes", 1);
    CU_ASSERT_EQUAL(load(NULL, 0), HW_EINVAL);
    (void)unsetenv("HAWSER_SANDBOX");
}

static void test_missing_file(void)
{
    CU_ASSERT_EQUAL(settings_load(rows, N_ROWS, "/nonexistent/x.json", true, NULL, 0, &c, &e),
                    HW_ENOTFOUND);
    CU_ASSERT_EQUAL(settings_load(rows, N_ROWS, "/nonexistent/x.json", false, NULL, 0, &c, &e),
                    HW_OK);
    settings_done(rows, N_ROWS, &c);
    CU_ASSERT_EQUAL(settings_load(rows, N_ROWS, NULL, true, NULL, 0, &c, &e), HW_OK);
    settings_done(rows, N_ROWS, &c);
}

static void test_take_flags(void)
{
    char *argv[] = {(char[]){"prog"},
                    (char[]){"run"},
                    (char[]){"--state-dir"},
                    (char[]){"/x"},
                    (char[]){"--threads=7"},
                    (char[]){"-v"},
                    (char[]){"--threadsx=1"},
                    (char[]){"--log-level=debug"},
                    (char[]){"--"},
                    (char[]){"--threads"},
                    NULL};
    int argc = 10;
    struct settings_flag flags[SETTINGS_FLAGS_MAX];
    size_t n;
    CU_ASSERT_EQUAL(settings_take_flags(rows, N_ROWS, &argc, argv, flags, &n, &e), HW_OK);
    CU_ASSERT_EQUAL_FATAL(n, 3);
    CU_ASSERT_STRING_EQUAL(flags[0].key, "state_dir");
    CU_ASSERT_STRING_EQUAL(flags[0].value, "/x");
    CU_ASSERT_STRING_EQUAL(flags[1].value, "7");
    CU_ASSERT_STRING_EQUAL(flags[2].key, "log_level");
    CU_ASSERT_EQUAL_FATAL(argc, 6);
    static const char *const rest[] = {"prog", "run", "-v", "--threadsx=1", "--", "--threads"};
    for (int i = 0; i < 6; i++)
        CU_ASSERT_STRING_EQUAL(argv[i], rest[i]);
    CU_ASSERT_PTR_NULL(argv[6]);
    char *short_argv[] = {(char[]){"prog"}, (char[]){"--threads"}, NULL};
    argc = 2;
    CU_ASSERT_EQUAL(settings_take_flags(rows, N_ROWS, &argc, short_argv, flags, &n, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "threads");
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"defaults", test_defaults},
        {"order", test_order},
        {"errors name line and key", test_errors_name_line_and_key},
        {"environment and flags are checked", test_environment_and_flags_are_checked},
        {"missing file", test_missing_file},
        {"take flags", test_take_flags},
        CU_TEST_INFO_NULL};
    int fd = mkstemp(path);
    if (fd < 0)
        return 2;
    (void)close(fd);
    int rc = suite_run("settings", tests);
    (void)unlink(path);
    return rc;
}
