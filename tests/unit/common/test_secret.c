#include "common/secret.h"
#include "tests/unit/suite.h"
#include <string.h>

static void test_wipe(void)
{
    char key[32], zero[32] = {0};
    memset(key, 0xa5, sizeof key);
    secret_wipe(key, 16);
    CU_ASSERT_EQUAL(memcmp(key, zero, 16), 0);
    CU_ASSERT_EQUAL((unsigned char)key[16], 0xa5);
    secret_wipe(NULL, 16);
}

static void test_equal(void)
{
    char a[32] = {0}, b[32] = {0};
    CU_ASSERT_TRUE(secret_equal(a, b, sizeof a));
    for (unsigned bit = 0; bit < 8 * sizeof a; bit++) {
        b[bit / 8] = (char)(1u << bit % 8);
        CU_ASSERT_FALSE(secret_equal(a, b, sizeof a));
        b[bit / 8] = 0;
    }
    CU_ASSERT_TRUE(secret_equal(a, b, 0));
}

int main(void)
{
    CU_TestInfo tests[] = {{"wipe", test_wipe}, {"equal", test_equal}, CU_TEST_INFO_NULL};
    return suite_run("secret", tests);
}
