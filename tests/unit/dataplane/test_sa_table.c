#include "agent/dataplane/sa_table.h"
#include "tests/unit/dataplane/packet_test.h"

/* Against a plain list, with SPIs that collide on purpose. */
static void test_against_a_list(void)
{
    enum { N = 200 };
    static struct sa sas[N];
    bool in[N] = {false};
    struct sa_table t;
    uint64_t rng = 17;
    unsigned count = 0;
    CU_ASSERT_EQUAL_FATAL(sa_table_init(&t, N, NULL), 0);
    for (unsigned i = 0; i < N; i++)
        sas[i].spi = 256 + (i % 8) * (t.mask + 1) + i / 8 % 16 + (t.mask - 8) * (i % 2) + i * 4096;
    for (unsigned round = 0; round < 20000; round++) {
        unsigned i = (unsigned)(test_random(&rng) % N);
        if (in[i]) {
            sa_table_remove(&t, &sas[i]);
            count--;
        } else {
            CU_ASSERT_EQUAL(sa_table_add(&t, &sas[i]), 0);
            count++;
        }
        in[i] = !in[i];
        CU_ASSERT_EQUAL(t.count, count);
        if (round % 50 == 0)
            for (unsigned k = 0; k < N; k++)
                if (sa_table_find(&t, sas[k].spi) != (in[k] ? &sas[k] : NULL))
                    CU_FAIL_FATAL("table differs from the list");
    }
    sa_table_done(&t);
}

static void test_refusals(void)
{
    static struct sa sas[40];
    struct sa_table t;
    CU_ASSERT_EQUAL_FATAL(sa_table_init(&t, 8, NULL), 0);
    for (unsigned i = 0; i < 40; i++)
        sas[i].spi = 256 + i;
    for (unsigned i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(sa_table_add(&t, &sas[i]), 0);
    CU_ASSERT_EQUAL(sa_table_add(&t, &sas[8]), HW_ETOOBIG);
    sa_table_remove(&t, &sas[0]);
    struct sa twin = {.spi = sas[1].spi};
    CU_ASSERT_EQUAL(sa_table_add(&t, &twin), HW_ECONFLICT);
    sa_table_remove(&t, &twin); /* absent, though its SPI is there */
    CU_ASSERT_PTR_EQUAL(sa_table_find(&t, sas[1].spi), &sas[1]);
    sa_table_done(&t);
    CU_ASSERT_EQUAL(sa_table_init(&t, UINT32_MAX, NULL), HW_EINVAL);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"against a list", test_against_a_list}, {"refusals", test_refusals}, CU_TEST_INFO_NULL};
    return packet_test_run("sa_table", tests);
}
