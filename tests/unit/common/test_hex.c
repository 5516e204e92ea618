#include "common/err.h"
#include "common/hex.h"
#include "tests/unit/suite.h"
#include <string.h>

static void test_both_ways(void)
{
    static const uint8_t bytes[] = {0x00, 0x0f, 0xa5, 0xff};
    char text[9];
    uint8_t back[4];
    CU_ASSERT_STRING_EQUAL(hex_encode(bytes, sizeof bytes, text), "000fa5ff");
    CU_ASSERT_EQUAL(hex_decode(text, back, sizeof back), HW_OK);
    CU_ASSERT_EQUAL(memcmp(back, bytes, sizeof bytes), 0);
}

static void test_refused(void)
{
    uint8_t out[2] = {7, 7};
    static const char *const bad[] = {"", "00", "0000a", "000", "00ag", "00AB", "0x00", " 000"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(hex_decode(bad[i], out, sizeof out), HW_EINVAL);
    CU_ASSERT_EQUAL(out[0], 7);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"both ways", test_both_ways}, {"refused", test_refused}, CU_TEST_INFO_NULL};
    return suite_run("hex", tests);
}
