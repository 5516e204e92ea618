#include "agent/control/state_dir.h"
#include "common/fsutil.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SERVICE 65534

static char dir[] = "/tmp/hawser-state-XXXXXX";

/* Root enrols, the service reads; a link out of the directory hands nothing over. */
static void test_hand_over(void)
{
    struct stat st;
    struct err e = {0};
    char file[64], link[64], outside[64];
    (void)snprintf(file, sizeof file, "%s/identity.json", dir);
    (void)snprintf(link, sizeof link, "%s/link", dir);
    (void)snprintf(outside, sizeof outside, "%s.outside", dir);
    CU_ASSERT_EQUAL(fsutil_write(file, "{}", 2, 0600, NULL), 0);
    CU_ASSERT_EQUAL(fsutil_write(outside, "x", 1, 0600, NULL), 0);
    CU_ASSERT_EQUAL(symlink(outside, link), 0);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(chown(dir, SERVICE, SERVICE), 0);
        CU_ASSERT_EQUAL(state_dir_hand_over(dir, &e), 0);
        CU_ASSERT_EQUAL(stat(file, &st), 0);
        CU_ASSERT_EQUAL(st.st_uid, SERVICE);
        CU_ASSERT_EQUAL(stat(outside, &st), 0);
        CU_ASSERT_EQUAL(st.st_uid, 0);
    } else {
        CU_ASSERT_EQUAL(state_dir_hand_over(dir, &e), 0);
    }
    (void)unlink(link);
    (void)unlink(file);
    (void)unlink(outside);
}

static void test_make(void)
{
    struct stat st;
    struct err e = {0};
    char sub[64];
    (void)snprintf(sub, sizeof sub, "%s/sub", dir);
    CU_ASSERT_EQUAL(state_dir_make(sub, &e), 0);
    CU_ASSERT_EQUAL(state_dir_make(sub, &e), 0);
    CU_ASSERT_EQUAL(stat(sub, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0700);
    (void)rmdir(sub);
    CU_ASSERT(state_dir_make("/nonexistent/a/b", &e) < 0);
}

static void test_lock(void)
{
    struct err e = {0};
    int first = -1, second = -1;
    CU_ASSERT_EQUAL(state_dir_lock(dir, &first, &e), 0);
    CU_ASSERT_EQUAL(state_dir_lock(dir, &second, &e), HW_ECONFLICT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, dir));
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "another hawser-agent"));
    (void)close(first);
    CU_ASSERT_EQUAL(state_dir_lock(dir, &second, &e), 0);
    (void)close(second);
    CU_ASSERT(state_dir_lock("/nonexistent/a", &second, &e) < 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"made once", test_make},
        {"handed over", test_hand_over},
        {"one agent at a time", test_lock},
        CU_TEST_INFO_NULL,
    };
    if (!mkdtemp(dir))
        return 2;
    int rc = suite_run("state_dir", tests);
    (void)rmdir(dir);
    return rc;
}
