#include "common/err.h"
#include "tests/unit/suite.h"
#include <errno.h>
#include <string.h>

static void test_set(void)
{
    struct err e;
    CU_ASSERT_EQUAL(err_set_field(&e, HW_EINVAL, "links[3].mtu", "must be from %d", 576),
                    HW_EINVAL);
    CU_ASSERT_EQUAL(e.code, HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "links[3].mtu");
    CU_ASSERT_STRING_EQUAL(e.text, "must be from 576");
    CU_ASSERT_EQUAL(err_set(&e, HW_EFAIL, "other"), HW_EFAIL);
    CU_ASSERT_STRING_EQUAL(e.field, "");
    CU_ASSERT_EQUAL(err_set(NULL, HW_ESTALE, "nobody listens"), HW_ESTALE);
}

static void test_set_from_itself(void)
{
    struct err e;
    (void)err_set_field(&e, HW_EINVAL, "a", "inner");
    (void)err_set_field(&e, HW_EINVAL, e.field, "outer: %s", e.text);
    CU_ASSERT_STRING_EQUAL(e.field, "a");
    CU_ASSERT_STRING_EQUAL(e.text, "outer: inner");
}

static void test_wrap(void)
{
    struct err e;
    (void)err_errno(&e, EADDRINUSE, "open udp socket");
    (void)err_wrap(&e, "tunnel %d", 3);
    CU_ASSERT_EQUAL(err_wrap(&e, "apply revision %d", 41), HW_EFAIL);
    CU_ASSERT_STRING_EQUAL(e.text,
                           "apply revision 41: tunnel 3: open udp socket: Address already in use");
    CU_ASSERT_EQUAL(err_wrap(NULL, "x"), HW_EFAIL);
}

static void test_wrap_keeps_within_the_text(void)
{
    struct err e;
    char longer[2 * ERR_TEXT_MAX];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    (void)err_set(&e, HW_EINVAL, "%s", longer);
    CU_ASSERT_EQUAL(strlen(e.text), ERR_TEXT_MAX - 1);
    (void)err_wrap(&e, "context");
    CU_ASSERT_EQUAL(strlen(e.text), ERR_TEXT_MAX - 1);
    CU_ASSERT_EQUAL(strncmp(e.text, "context: xxx", 12), 0);
    (void)err_wrap(&e, "%s", longer);
    CU_ASSERT_EQUAL(strlen(e.text), ERR_TEXT_MAX - 1);
}

static void test_names(void)
{
    CU_ASSERT_STRING_EQUAL(err_name(HW_OK), "ok");
    CU_ASSERT_STRING_EQUAL(err_name(HW_ENOTFOUND), "not_found");
    CU_ASSERT_STRING_EQUAL(err_name(HW_EPROTO), "protocol");
    CU_ASSERT_STRING_EQUAL(err_name(-99), "unknown");
    CU_ASSERT_STRING_EQUAL(err_name(1), "unknown");
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"set", test_set},     {"set from itself", test_set_from_itself},
        {"wrap", test_wrap},   {"wrap keeps within the text", test_wrap_keeps_within_the_text},
        {"names", test_names}, CU_TEST_INFO_NULL};
    return suite_run("err", tests);
}
