#include "agent/dataplane/checksum.h"
#include "tests/unit/dataplane/packet_test.h"

static uint16_t big_endian(uint16_t v)
{
    return __builtin_bswap16(v);
}

static void test_every_length_and_alignment(void)
{
    static uint8_t buf[5000];
    uint64_t rng = 11;
    test_fill(&rng, buf, sizeof buf);
    for (size_t len = 0; len < 700; len++)
        for (size_t at = 0; at < 8; at++)
            if (checksum_fold(checksum_add(buf + at, len, 0)) !=
                big_endian(test_sum(buf + at, len, 0)))
                CU_FAIL_FATAL("sum differs");
    CU_ASSERT_EQUAL(checksum_fold(checksum_add(buf, 4999, 0)), big_endian(test_sum(buf, 4999, 0)));
}

/* Carries out of every lane: all bits set, over the longest packet. */
static void test_no_carry_is_lost(void)
{
    static uint8_t buf[65535];
    memset(buf, 0xff, sizeof buf);
    CU_ASSERT_EQUAL(checksum_fold(checksum_add(buf, 65534, 0)), 0xffff);
    CU_ASSERT_EQUAL(checksum_fold(checksum_add(buf, 65535, 0)),
                    big_endian(test_sum(buf, 65535, 0)));
    CU_ASSERT_EQUAL(checksum_fold(UINT64_MAX), 0xffff);
    CU_ASSERT_EQUAL(checksum_fold(0), 0);
}

static void test_replace_equals_recomputing(void)
{
    uint8_t hdr[20];
    uint64_t rng = 5;
    for (int i = 0; i < 20000; i++) {
        test_fill(&rng, hdr, sizeof hdr);
        if (i % 3 == 0)
            hdr[8] = hdr[9] = i % 2 ? 0 : 0xff;
        checksum_ipv4_set(hdr, 20);
        uint16_t from = checksum_load(hdr + 8), to = (uint16_t)test_random(&rng);
        if (i % 5 == 0)
            to = i % 2 ? 0 : 0xffff;
        checksum_store(hdr + 8, to);
        checksum_replace16(hdr + 10, from, to);
        CU_ASSERT_TRUE(checksum_ipv4_ok(hdr, 20));
    }
}

static void test_completion(void)
{
    uint8_t pkt[2000];
    for (int family = 4; family <= 6; family += 2)
        for (unsigned proto = 6; proto <= 17; proto += 11) {
            struct test_packet t = {
                .family = family, .proto = (uint8_t)proto, .payload = 1001, .partial = true};
            size_t len = test_build(pkt, &t), l4 = family == 4 ? 20 : 40, at = proto == 6 ? 16 : 6;
            CU_ASSERT_FALSE(test_checksums_ok(pkt, len));
            CU_ASSERT_TRUE(checksum_complete(pkt, len, l4, at, proto == 17));
            CU_ASSERT_TRUE(test_checksums_ok(pkt, len));
        }
}

static void test_bad_partial_sum_stays_bad(void)
{
    uint8_t pkt[2000];
    struct test_packet t = {.family = 4, .proto = 6, .payload = 100, .partial = true};
    size_t len = test_build(pkt, &t);
    pkt[36] ^= 1;
    CU_ASSERT_TRUE(checksum_complete(pkt, len, 20, 16, false));
    CU_ASSERT_FALSE(test_checksums_ok(pkt, len));
}

/* A UDP checksum that comes out as zero is sent as all ones (RFC 768). */
static void test_udp_never_sends_zero(void)
{
    uint8_t pkt[100];
    struct test_packet t = {.family = 4, .proto = 17, .payload = 2, .partial = true};
    size_t len = test_build(pkt, &t);
    test_put16(pkt + 28, 0);
    test_put16(pkt + 28, (uint16_t)~test_sum(pkt + 20, len - 20, 0));
    CU_ASSERT_TRUE(checksum_complete(pkt, len, 20, 6, true));
    CU_ASSERT_EQUAL(test_get16(pkt + 26), 0xffff);
}

static void test_position_must_lie_inside(void)
{
    uint8_t pkt[64] = {0};
    CU_ASSERT_TRUE(checksum_complete(pkt, 64, 20, 42, false));
    CU_ASSERT_FALSE(checksum_complete(pkt, 64, 20, 43, false));
    CU_ASSERT_FALSE(checksum_complete(pkt, 64, 63, 0, false));
    CU_ASSERT_FALSE(checksum_complete(pkt, 64, 65, 0, false));
    CU_ASSERT_FALSE(checksum_complete(pkt, 64, 20, SIZE_MAX, false));
}

static void test_verification(void)
{
    uint8_t pkt[2000];
    for (int family = 4; family <= 6; family += 2)
        for (unsigned proto = 6; proto <= 17; proto += 11) {
            struct test_packet t = {.family = family, .proto = (uint8_t)proto, .payload = 777};
            struct inner in;
            size_t len = test_build(pkt, &t);
            CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
            CU_ASSERT_TRUE(checksum_l4_ok(pkt, &in));
            pkt[len - 1] ^= 0x10;
            CU_ASSERT_FALSE(checksum_l4_ok(pkt, &in));
            pkt[len - 1] ^= 0x10;
            if (proto == 17)
                test_put16(pkt + in.l4 + 6, 0);
            CU_ASSERT_EQUAL(checksum_l4_ok(pkt, &in), proto == 6);
        }
}

int main(void)
{
    CU_TestInfo tests[] = {{"every length and alignment", test_every_length_and_alignment},
                           {"no carry is lost", test_no_carry_is_lost},
                           {"replace equals recomputing", test_replace_equals_recomputing},
                           {"completion", test_completion},
                           {"bad partial sum stays bad", test_bad_partial_sum_stays_bad},
                           {"UDP never sends zero", test_udp_never_sends_zero},
                           {"position must lie inside", test_position_must_lie_inside},
                           {"verification", test_verification},
                           CU_TEST_INFO_NULL};
    return packet_test_run("checksum", tests);
}
