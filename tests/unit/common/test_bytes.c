#include "common/bytes.h"
#include "tests/unit/suite.h"

static void test_round_trip(void)
{
    uint8_t buf[20];
    struct byte_writer w = byte_writer_init(buf, sizeof buf);
    byte_put8(&w, 0x01);
    byte_put16(&w, 0x0203);
    byte_put32(&w, 0x04050607);
    byte_put64(&w, 0x08090a0b0c0d0e0full);
    byte_put(&w, "tail!", 5);
    CU_ASSERT_TRUE(w.ok);
    CU_ASSERT_EQUAL(w.used, 20);
    for (unsigned i = 0; i < 15; i++)
        CU_ASSERT_EQUAL(buf[i], i + 1); /* network order */
    struct byte_reader r = byte_reader_init(buf, sizeof buf);
    CU_ASSERT_EQUAL(byte_get8(&r), 0x01);
    CU_ASSERT_EQUAL(byte_get16(&r), 0x0203);
    CU_ASSERT_EQUAL(byte_get32(&r), 0x04050607);
    CU_ASSERT_EQUAL(byte_get64(&r), 0x08090a0b0c0d0e0full);
    CU_ASSERT_EQUAL(memcmp(byte_take(&r, 5), "tail!", 5), 0);
    CU_ASSERT_TRUE(r.ok);
    CU_ASSERT_EQUAL(r.left, 0);
}

static void test_overrun_sticks(void)
{
    uint8_t buf[3] = {1, 2, 3};
    struct byte_reader r = byte_reader_init(buf, sizeof buf);
    CU_ASSERT_EQUAL(byte_get32(&r), 0);
    CU_ASSERT_FALSE(r.ok);
    CU_ASSERT_EQUAL(byte_get8(&r), 0);
    CU_ASSERT_PTR_NULL(byte_take(&r, 0));
    struct byte_writer w = byte_writer_init(buf, sizeof buf);
    byte_put32(&w, 0xffffffff);
    byte_put8(&w, 9);
    CU_ASSERT_FALSE(w.ok);
    CU_ASSERT_EQUAL(w.used, 0);
    CU_ASSERT_EQUAL(buf[0], 1);
}

int main(void)
{
    CU_TestInfo tests[] = {{"round trip", test_round_trip},
                           {"overrun sticks", test_overrun_sticks},
                           CU_TEST_INFO_NULL};
    return suite_run("bytes", tests);
}
