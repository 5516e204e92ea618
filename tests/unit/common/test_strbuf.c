#include "common/strbuf.h"
#include "tests/unit/suite.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void test_add(void)
{
    struct strbuf b = STRBUF_INIT;
    CU_ASSERT_STRING_EQUAL(strbuf_str(&b), "");
    strbuf_puts(&b, "one");
    strbuf_add(&b, " two!", 4);
    strbuf_printf(&b, " %d-%s", 3, "four");
    CU_ASSERT_STRING_EQUAL(strbuf_str(&b), "one two 3-four");
    CU_ASSERT_EQUAL(b.len, strlen("one two 3-four"));
    strbuf_reset(&b);
    CU_ASSERT_STRING_EQUAL(strbuf_str(&b), "");
    strbuf_puts(&b, "again");
    char *s = strbuf_take(&b);
    CU_ASSERT_STRING_EQUAL(s, "again");
    CU_ASSERT_PTR_NULL(b.data);
    free(s);
    s = strbuf_take(&b);
    CU_ASSERT_STRING_EQUAL(s, "");
    free(s);
}

static void test_growth(void)
{
    struct strbuf b = STRBUF_INIT;
    for (int i = 0; i < 10000; i++)
        strbuf_printf(&b, "%04d", i);
    CU_ASSERT_EQUAL(b.len, 40000);
    CU_ASSERT_EQUAL(strncmp(b.data + 4 * 9999, "9999", 5), 0);
    strbuf_done(&b);
    strbuf_done(NULL);
}

static void test_failed(void)
{
    struct strbuf b = STRBUF_INIT;
    strbuf_puts(&b, "kept");
    strbuf_add(&b, "x", SIZE_MAX / 2); /* refused before a byte of it is read */
    CU_ASSERT_TRUE(b.failed);
    strbuf_puts(&b, "more");
    CU_ASSERT_STRING_EQUAL(strbuf_str(&b), "kept");
    CU_ASSERT_PTR_NULL(strbuf_take(&b));
    CU_ASSERT_FALSE(b.failed);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"add", test_add}, {"growth", test_growth}, {"failed", test_failed}, CU_TEST_INFO_NULL};
    return suite_run("strbuf", tests);
}
