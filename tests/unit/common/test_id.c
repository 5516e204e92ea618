#include "common/err.h"
#include "common/id.h"
#include "tests/unit/suite.h"

static void test_new(void)
{
    struct hw_id seen[64];
    for (size_t i = 0; i < 64; i++) {
        seen[i] = id_new();
        CU_ASSERT_EQUAL(seen[i].b[6] >> 4, 4);
        CU_ASSERT_EQUAL(seen[i].b[8] >> 6, 2);
        for (size_t j = 0; j < i; j++)
            CU_ASSERT_FALSE(id_equal(&seen[i], &seen[j]));
    }
}

static void test_text(void)
{
    static const char text[] = "00112233-4455-4677-8899-aabbccddeeff";
    struct hw_id id;
    char out[ID_TEXT_MAX];
    CU_ASSERT_EQUAL(id_parse(text, &id), HW_OK);
    CU_ASSERT_EQUAL(id.b[0], 0x00);
    CU_ASSERT_EQUAL(id.b[6], 0x46);
    CU_ASSERT_EQUAL(id.b[15], 0xff);
    CU_ASSERT_STRING_EQUAL(id_text(&id, out), text);
    for (int i = 0; i < 100; i++) {
        struct hw_id a = id_new(), b;
        CU_ASSERT_EQUAL(id_parse(id_text(&a, out), &b), HW_OK);
        CU_ASSERT_TRUE(id_equal(&a, &b));
    }
}

static void test_refused(void)
{
    static const char *const bad[] = {
        "",
        "00112233-4455-4677-8899-aabbccddeef",
        "00112233-4455-4677-8899-aabbccddeefff",
        "00112233-4455-4677-8899-AABBCCDDEEFF",
        "00112233-4455-4677-8899aabbccddeeff-",
        "00112233_4455_4677_8899_aabbccddeeff",
        "{0112233-4455-4677-8899-aabbccddeeff",
        "0g112233-4455-4677-8899-aabbccddeeff",
        "00112233445546778899aabbccddeeff",
    };
    struct hw_id id = {{1}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(id_parse(bad[i], &id), HW_EINVAL);
    CU_ASSERT_EQUAL(id_parse(NULL, &id), HW_EINVAL);
    CU_ASSERT_EQUAL(id.b[0], 1);
}

static void test_rand_below(void)
{
    unsigned count[6] = {0};
    for (int i = 0; i < 6000; i++) {
        uint32_t v = rand_below(6);
        CU_ASSERT_FATAL(v < 6);
        count[v]++;
    }
    /* 1000 expected, standard deviation 29: nine of these. */
    for (int i = 0; i < 6; i++)
        CU_ASSERT(count[i] > 740 && count[i] < 1260);
    CU_ASSERT_EQUAL(rand_below(1), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {{"new", test_new},
                           {"text", test_text},
                           {"refused", test_refused},
                           {"rand_below", test_rand_below},
                           CU_TEST_INFO_NULL};
    return suite_run("id", tests);
}
