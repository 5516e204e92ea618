#include "agent/dataplane/checksum.h"
#include "agent/dataplane/mss.h"
#include "tests/unit/dataplane/packet_test.h"

/* A SYN with the given options (a multiple of 4 bytes). */
static size_t build_syn(uint8_t *pkt, int family, const uint8_t *options, size_t n, bool partial)
{
    struct test_packet t = {.family = family,
                            .proto = 6,
                            .flags = 0x02,
                            .tcp_words = (uint8_t)(5 + n / 4),
                            .partial = true};
    size_t len = test_build(pkt, &t), l4 = family == 4 ? 20 : 40;
    memcpy(pkt + l4 + 20, options, n);
    if (!partial)
        (void)checksum_complete(pkt, len, l4, 16, false);
    return len;
}

static bool clamp(uint8_t *pkt, size_t len, uint32_t mtu, bool partial)
{
    struct inner in;
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
    return mss_clamp(pkt, &in, mtu, partial);
}

static void test_lowered_never_raised(void)
{
    static const uint8_t options[] = {2, 4, 0x05, 0xb4, 4, 2, 1, 1}; /* 1460, SACK permitted */
    uint8_t pkt[200];
    for (int family = 4; family <= 6; family += 2) {
        unsigned headers = family == 4 ? 40 : 60;
        size_t l4 = family == 4 ? 20 : 40;
        size_t len = build_syn(pkt, family, options, sizeof options, false);
        CU_ASSERT_TRUE(clamp(pkt, len, 1438, false));
        CU_ASSERT_EQUAL(test_get16(pkt + l4 + 22), 1438 - headers);
        CU_ASSERT_TRUE(test_checksums_ok(pkt, len));
        CU_ASSERT_FALSE(clamp(pkt, len, 1438, false));
        CU_ASSERT_FALSE(clamp(pkt, len, 9000, false));
        CU_ASSERT_EQUAL(test_get16(pkt + l4 + 22), 1438 - headers);
        pkt[l4 + 13] = 0x12; /* SYN-ACK as well */
        CU_ASSERT_TRUE(clamp(pkt, len, 1400, false));
        pkt[l4 + 13] = 0x10;
        CU_ASSERT_FALSE(clamp(pkt, len, 1300, false));
    }
}

/* The value at an odd offset straddles two words of the sum. */
static void test_odd_offset(void)
{
    static const uint8_t options[] = {1, 2, 4, 0x23, 0x28, 1, 1, 1};
    uint8_t pkt[200];
    for (uint32_t mtu = 576; mtu < 9000; mtu += 7) {
        size_t len = build_syn(pkt, 4, options, sizeof options, false);
        CU_ASSERT_TRUE(clamp(pkt, len, mtu, false));
        CU_ASSERT_EQUAL(test_get16(pkt + 43), mtu - 40);
        CU_ASSERT_TRUE(test_checksums_ok(pkt, len));
    }
}

/* With a partial checksum the field must stay; completed afterwards it is right. */
static void test_partial_checksum(void)
{
    static const uint8_t options[] = {2, 4, 0x05, 0xb4};
    uint8_t pkt[200];
    size_t len = build_syn(pkt, 4, options, sizeof options, true);
    unsigned before = test_get16(pkt + 36);
    CU_ASSERT_TRUE(clamp(pkt, len, 1400, true));
    CU_ASSERT_EQUAL(test_get16(pkt + 36), before);
    (void)checksum_complete(pkt, len, 20, 16, false);
    CU_ASSERT_TRUE(test_checksums_ok(pkt, len));
}

static void test_bad_checksum_stays_bad(void)
{
    static const uint8_t options[] = {2, 4, 0x05, 0xb4};
    uint8_t pkt[200];
    size_t len = build_syn(pkt, 4, options, sizeof options, false);
    pkt[37] ^= 1;
    CU_ASSERT_TRUE(clamp(pkt, len, 1400, false));
    CU_ASSERT_FALSE(test_checksums_ok(pkt, len));
}

static void test_malformed_options_are_left_alone(void)
{
    static const uint8_t rows[][8] = {
        {2, 3, 5, 0xb4, 1, 1, 1, 1},    /* wrong length of the option */
        {5, 0, 2, 4, 0x05, 0xb4, 1, 1}, /* length 0 */
        {5, 9, 2, 4, 0x05, 0xb4, 1, 1}, /* runs past the header */
        {0, 0, 2, 4, 0x05, 0xb4, 1, 1}, /* behind the end of options */
        {1, 1, 1, 1, 1, 1, 1, 2},       /* kind without length */
        {1, 1, 1, 1, 1, 1, 2, 4},       /* value missing */
    };
    uint8_t pkt[200], before[200];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t len = build_syn(pkt, 4, rows[i], 8, false);
        memcpy(before, pkt, len);
        CU_ASSERT_FALSE(clamp(pkt, len, 600, false));
        CU_ASSERT_EQUAL(memcmp(before, pkt, len), 0);
    }
    static const uint8_t good[] = {2, 4, 0x05, 0xb4};
    size_t len = build_syn(pkt, 4, good, 4, false);
    pkt[32] = 0xf0; /* header longer than the packet */
    CU_ASSERT_FALSE(clamp(pkt, len, 600, false));
    CU_ASSERT_FALSE(clamp(pkt, len, 40, false));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"lowered, never raised", test_lowered_never_raised},
        {"odd offset", test_odd_offset},
        {"partial checksum", test_partial_checksum},
        {"bad checksum stays bad", test_bad_checksum_stays_bad},
        {"malformed options are left alone", test_malformed_options_are_left_alone},
        CU_TEST_INFO_NULL};
    return packet_test_run("mss", tests);
}
