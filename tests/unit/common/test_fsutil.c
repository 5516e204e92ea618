#include "common/fsutil.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/hawser-fsutil-XXXXXX";
static char path[64], tmp[72];

static void test_write_and_read(void)
{
    char *text;
    size_t len;
    struct stat st;
    (void)umask(0077);
    CU_ASSERT_EQUAL(fsutil_write(path, "old", 3, 0644, NULL), HW_OK);
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0644);
    CU_ASSERT_EQUAL(fsutil_write(tmp, "left by a crash", 15, 0600, NULL), HW_OK);
    CU_ASSERT_EQUAL(fsutil_write(path, "n\0w", 3, 0600, NULL), HW_OK);
    CU_ASSERT_NOT_EQUAL(access(tmp, F_OK), 0);
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
    CU_ASSERT_EQUAL_FATAL(fsutil_read(path, 3, &text, &len, NULL), HW_OK);
    CU_ASSERT_EQUAL(len, 3);
    CU_ASSERT_EQUAL(memcmp(text, "n\0w", 4), 0);
    free(text);
    CU_ASSERT_EQUAL(fsutil_read(path, 2, &text, &len, NULL), HW_ETOOBIG);
}

static void test_large(void)
{
    static char data[1000003];
    char *text;
    size_t len;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 31 >> 3);
    CU_ASSERT_EQUAL(fsutil_write(path, data, sizeof data, 0600, NULL), HW_OK);
    CU_ASSERT_EQUAL_FATAL(fsutil_read(path, sizeof data, &text, &len, NULL), HW_OK);
    CU_ASSERT_EQUAL(len, sizeof data);
    CU_ASSERT_EQUAL(memcmp(text, data, sizeof data), 0);
    free(text);
    CU_ASSERT_EQUAL(fsutil_write(path, "", 0, 0600, NULL), HW_OK);
    CU_ASSERT_EQUAL_FATAL(fsutil_read(path, 0, &text, &len, NULL), HW_OK);
    CU_ASSERT_STRING_EQUAL(text, "");
    free(text);
}

/* A file whose size the kernel reports as 0. */
static void test_proc(void)
{
    char *text;
    size_t len;
    CU_ASSERT_EQUAL_FATAL(fsutil_read("/proc/sys/kernel/random/boot_id", 64, &text, &len, NULL),
                          HW_OK);
    CU_ASSERT_EQUAL(len, 37);
    free(text);
}

static void test_missing(void)
{
    char *text;
    size_t len;
    struct err e;
    CU_ASSERT_EQUAL(fsutil_remove(path, NULL), HW_OK);
    CU_ASSERT_EQUAL(fsutil_remove(path, NULL), HW_OK);
    CU_ASSERT_EQUAL(fsutil_read(path, 9, &text, &len, &e), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(fsutil_rename(tmp, path, &e), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(fsutil_write("/nonexistent/x", "x", 1, 0600, &e), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(fsutil_read(dir, 9, &text, &len, &e), HW_EFAIL);
}

static void test_rename_and_mkdir(void)
{
    char sub[64];
    struct stat st;
    CU_ASSERT_EQUAL(fsutil_write(tmp, "x", 1, 0600, NULL), HW_OK);
    CU_ASSERT_EQUAL(fsutil_rename(tmp, path, NULL), HW_OK);
    CU_ASSERT_EQUAL(access(path, F_OK), 0);
    CU_ASSERT_EQUAL(fsutil_remove(path, NULL), HW_OK);
    (void)snprintf(sub, sizeof sub, "%s/d", dir);
    CU_ASSERT_EQUAL(fsutil_mkdir(sub, 0700, NULL), HW_OK);
    CU_ASSERT_EQUAL(fsutil_mkdir(sub, 0700, NULL), HW_OK);
    CU_ASSERT_EQUAL(stat(sub, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0700);
    CU_ASSERT_EQUAL(rmdir(sub), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {{"write and read", test_write_and_read},
                           {"large", test_large},
                           {"proc", test_proc},
                           {"missing", test_missing},
                           {"rename and mkdir", test_rename_and_mkdir},
                           CU_TEST_INFO_NULL};
    if (!mkdtemp(dir))
        return 2;
    (void)snprintf(path, sizeof path, "%s/file", dir);
    (void)snprintf(tmp, sizeof tmp, "%s.tmp", path);
    int rc = suite_run("fsutil", tests);
    (void)rmdir(dir);
    return rc;
}
