#include "common/b64url.h"
#include "common/err.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>

/* RFC 4648 section 10, without padding, and the two characters that differ from plain base64. */
static void test_vectors(void)
{
    static const char *const rows[][2] = {
        {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
        {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff\xbf", "-_-_"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t len = strlen(rows[i][0]), back_len;
        uint8_t *back;
        char *text = b64url_encode(rows[i][0], len);
        CU_ASSERT_STRING_EQUAL(text, rows[i][1]);
        CU_ASSERT_EQUAL(strlen(text), B64URL_LEN(len));
        CU_ASSERT_EQUAL_FATAL(b64url_decode(text, strlen(text), &back, &back_len), HW_OK);
        CU_ASSERT_EQUAL(back_len, len);
        CU_ASSERT_EQUAL(memcmp(back, rows[i][0], len + 1), 0);
        free(text);
        free(back);
    }
}

static void test_refused(void)
{
    static const char *const bad[] = {"Z",    "Zg==", "Zg=",    "Zh",    "Zm9",
                                      "Zm+v", "Zm/v", "Zm9v\n", " Zm9v", "Zm9vY"};
    uint8_t *out = NULL;
    size_t len;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(b64url_decode(bad[i], strlen(bad[i]), &out, &len), HW_EINVAL);
    CU_ASSERT_PTR_NULL(out);
}

int main(void)
{
    CU_TestInfo tests[] = {{"vectors", test_vectors}, {"refused", test_refused}, CU_TEST_INFO_NULL};
    return suite_run("b64url", tests);
}
