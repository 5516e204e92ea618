#include "agent/dataplane/checksum.h"
#include "agent/dataplane/icmp_reply.h"
#include "tests/unit/dataplane/packet_test.h"

static const uint8_t from4[4] = {100, 127, 0, 1};
static const uint8_t from6[16] = {0xfd, 0x77, [15] = 1};
static uint8_t pkt[70000], out[ICMP_REPLY_MAX];

static size_t too_big(size_t len, uint32_t mtu)
{
    struct inner in;
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
    return icmp_reply_too_big(pkt, &in, in.family == 4 ? from4 : from6, mtu, out, sizeof out);
}

static void test_too_big_ipv4(void)
{
    struct test_packet t = {.family = 4, .proto = 6, .payload = 1460, .frag = 0x4000, .sport = 80};
    size_t len = test_build(pkt, &t), n = too_big(len, 1438);
    CU_ASSERT_EQUAL(n, 576);
    CU_ASSERT_EQUAL(test_get16(out + 2), n);
    CU_ASSERT_EQUAL(test_sum(out, 20, 0), 0xffff);
    CU_ASSERT_EQUAL(memcmp(out + 12, from4, 4), 0);
    CU_ASSERT_EQUAL(memcmp(out + 16, pkt + 12, 4), 0);
    CU_ASSERT_EQUAL(out[20], 3);
    CU_ASSERT_EQUAL(out[21], 4);
    CU_ASSERT_EQUAL(test_get32(out + 24), 1438);
    CU_ASSERT_EQUAL(test_sum(out + 20, n - 20, 0), 0xffff);
    CU_ASSERT_EQUAL(memcmp(out + 28, pkt, n - 28), 0);
}

static void test_too_big_ipv6(void)
{
    struct test_packet t = {.family = 6, .proto = 17, .payload = 1452};
    size_t len = test_build(pkt, &t), n = too_big(len, 1418);
    CU_ASSERT_EQUAL(n, 1280);
    CU_ASSERT_EQUAL(out[40], 2);
    CU_ASSERT_EQUAL(test_get32(out + 44), 1418);
    CU_ASSERT_TRUE(test_checksums_ok(out, n));
    CU_ASSERT_EQUAL(memcmp(out + 48, pkt, n - 48), 0);
    CU_ASSERT_EQUAL(memcmp(out + 24, pkt + 8, 16), 0);
    /* never less than the minimum MTU of IPv6 */
    (void)too_big(len, 1100);
    CU_ASSERT_EQUAL(test_get32(out + 44), 1280);
}

static void test_time_exceeded(void)
{
    for (int family = 4; family <= 6; family += 2) {
        struct test_packet t = {.family = family, .proto = 17, .payload = 10, .ttl = 1};
        struct inner in;
        size_t len = test_build(pkt, &t), l4 = family == 4 ? 20 : 40;
        CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
        size_t n = icmp_reply_time_exceeded(pkt, &in, family == 4 ? from4 : from6, out, sizeof out);
        CU_ASSERT_EQUAL(n, l4 + 8 + len);
        CU_ASSERT_EQUAL(out[l4], family == 4 ? 11 : 3);
        CU_ASSERT_EQUAL(out[l4 + 1], 0);
        CU_ASSERT_EQUAL(memcmp(out + l4 + 8, pkt, len), 0);
        CU_ASSERT_EQUAL(icmp_reply_time_exceeded(pkt, &in, family == 4 ? from4 : from6, out, n - 1),
                        0);
    }
}

/* About an ICMP message of the given type. */
static size_t about_icmp(int family, uint8_t type)
{
    struct test_packet t = {.family = family, .proto = family == 4 ? 1 : 58, .payload = 1500};
    size_t len = test_build(pkt, &t);
    pkt[family == 4 ? 20 : 40] = type;
    return too_big(len, 1400);
}

static void test_never_about_icmp_errors(void)
{
    CU_ASSERT(about_icmp(4, 8) > 0);
    CU_ASSERT(about_icmp(4, 0) > 0);
    CU_ASSERT(about_icmp(6, 128) > 0);
    static const uint8_t errors4[] = {3, 4, 5, 11, 12, 200}, errors6[] = {1, 2, 3, 4, 100, 137};
    for (size_t i = 0; i < 6; i++) {
        CU_ASSERT_EQUAL(about_icmp(4, errors4[i]), 0);
        CU_ASSERT_EQUAL(about_icmp(6, errors6[i]), 0);
    }
}

static void test_never_about_later_fragments(void)
{
    struct test_packet t = {.family = 4, .proto = 17, .payload = 1500, .frag = 0x2000};
    CU_ASSERT(too_big(test_build(pkt, &t), 1400) > 0);
    t.frag = 0x2010;
    CU_ASSERT_EQUAL(too_big(test_build(pkt, &t), 1400), 0);
}

static size_t with_address(int family, size_t at, const uint8_t *addr)
{
    struct test_packet t = {.family = family, .proto = 17, .payload = 1500};
    size_t len = test_build(pkt, &t);
    memcpy(pkt + at, addr, family == 4 ? 4 : 16);
    if (family == 4)
        checksum_ipv4_set(pkt, 20);
    return too_big(len, 1400);
}

static void test_never_to_or_about_groups(void)
{
    static const uint8_t none4[][4] = {
        {224, 0, 0, 5}, {255, 255, 255, 255}, {0, 0, 0, 0}, {127, 0, 0, 1}, {240, 0, 0, 1}};
    static const uint8_t none6[][16] = {{0xff, 2, [15] = 1}, {0}, {[15] = 1}};
    static const uint8_t host4[4] = {192, 0, 2, 7}, host6[16] = {0x20, 1, 0xd, 0xb8, [15] = 7};
    CU_ASSERT(with_address(4, 12, host4) > 0);
    CU_ASSERT(with_address(6, 8, host6) > 0);
    for (size_t i = 0; i < 5; i++)
        for (size_t at = 12; at <= 16; at += 4)
            CU_ASSERT_EQUAL(with_address(4, at, none4[i]), 0);
    for (size_t i = 0; i < 3; i++)
        for (size_t at = 8; at <= 24; at += 16)
            CU_ASSERT_EQUAL(with_address(6, at, none6[i]), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {{"too big, IPv4", test_too_big_ipv4},
                           {"too big, IPv6", test_too_big_ipv6},
                           {"time exceeded", test_time_exceeded},
                           {"never about ICMP errors", test_never_about_icmp_errors},
                           {"never about later fragments", test_never_about_later_fragments},
                           {"never to or about groups", test_never_to_or_about_groups},
                           CU_TEST_INFO_NULL};
    return packet_test_run("icmp_reply", tests);
}
