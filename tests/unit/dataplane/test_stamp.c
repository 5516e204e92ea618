#include "agent/dataplane/stamp.h"
#include "common/err.h"
#include "tests/unit/dataplane/packet_test.h"

static struct ipaddr addr(const char *text)
{
    struct ipaddr a = {0};
    CU_ASSERT_EQUAL_FATAL(ipaddr_parse(text, &a), HW_OK);
    return a;
}

struct ends {
    struct ipaddr from, to;
    size_t ip;
};

static struct ends ends_of(int family)
{
    if (family == 4)
        return (struct ends){addr("100.127.0.1"), addr("100.127.0.2"), 20};
    return (struct ends){addr("fd00::1"), addr("fd00::2"), 40};
}

/* Byte by byte against RFC 8762 figure 4 and RFC 8972 section 3. */
static void check_test_packet(int family)
{
    struct ends e = ends_of(family);
    uint8_t pkt[256];
    size_t len = e.ip + 8 + STAMP_LEN;
    CU_ASSERT_EQUAL(stamp_test(pkt, len - 1, &e.from, &e.to, 1, 2), 0);
    CU_ASSERT_EQUAL_FATAL(stamp_test(pkt, len, &e.from, &e.to, 0x01020304, 0x0506), len);
    struct inner in;
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
    CU_ASSERT_EQUAL(in.ttl, 255);
    CU_ASSERT_EQUAL(in.len, len);
    CU_ASSERT_EQUAL(memcmp(in.src, e.from.b, inner_addr_len(&in)), 0);
    CU_ASSERT_EQUAL(memcmp(in.dst, e.to.b, inner_addr_len(&in)), 0);
    CU_ASSERT_EQUAL(in.sport, STAMP_SENDER_PORT);
    CU_ASSERT_EQUAL(in.dport, 862);
    CU_ASSERT_TRUE(test_checksums_ok(pkt, len));
    const uint8_t *p = pkt + e.ip + 8;
    CU_ASSERT_EQUAL(test_get32(p), 0x01020304);
    CU_ASSERT_TRUE(test_get32(p + 4) > 3900000000u); /* NTP seconds: after 2023 */
    CU_ASSERT_EQUAL(test_get16(p + 12), 1);          /* error estimate: multiplier is never 0 */
    CU_ASSERT_EQUAL(test_get16(p + 14), 0x0506);
    for (int i = 16; i < 44; i++)
        CU_ASSERT_EQUAL(p[i], 0);
    CU_ASSERT_EQUAL(stamp_kind(pkt, &in), STAMP_TEST);
}

static void test_packet(void)
{
    check_test_packet(4);
    check_test_packet(6);
}

/* The answer against RFC 8762 figure 6: same length, swapped ends, sender's fields copied. */
static void check_reflection(int family, size_t padding)
{
    struct ends e = ends_of(family);
    uint8_t sent[512], pkt[512];
    size_t len = e.ip + 8 + STAMP_LEN + padding;
    CU_ASSERT_EQUAL_FATAL(stamp_test(sent, len, &e.from, &e.to, 77, 3), len);
    if (family == 4) {
        sent[8] = 9; /* as if 246 hops away */
        test_put16(sent + 10, 0);
        test_put16(sent + 10, (uint16_t)~test_sum(sent, 20, 0));
    } else {
        sent[7] = 9;
    }
    memcpy(pkt, sent, len);
    struct inner in;
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
    stamp_reflect(pkt, &in);
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
    CU_ASSERT_EQUAL(in.len, len);
    CU_ASSERT_EQUAL(memcmp(in.src, e.to.b, inner_addr_len(&in)), 0);
    CU_ASSERT_EQUAL(memcmp(in.dst, e.from.b, inner_addr_len(&in)), 0);
    CU_ASSERT_EQUAL(in.ttl, 255);
    CU_ASSERT_EQUAL(in.sport, 862);
    CU_ASSERT_EQUAL(in.dport, STAMP_SENDER_PORT);
    CU_ASSERT_TRUE(test_checksums_ok(pkt, len));
    const uint8_t *s = sent + e.ip + 8, *p = pkt + e.ip + 8;
    CU_ASSERT_EQUAL(test_get32(p), 77); /* stateless: sender's number */
    CU_ASSERT_EQUAL(test_get16(p + 12), 1);
    CU_ASSERT_EQUAL(test_get16(p + 14), 3);           /* session id */
    CU_ASSERT_TRUE(test_get32(p + 16) > 3900000000u); /* receive time stamp */
    CU_ASSERT_EQUAL(memcmp(p + 24, s, 4), 0);         /* sender's number … */
    CU_ASSERT_EQUAL(memcmp(p + 28, s + 4, 8), 0);     /* … time stamp … */
    CU_ASSERT_EQUAL(memcmp(p + 36, s + 12, 2), 0);    /* … error estimate … */
    CU_ASSERT_EQUAL(test_get16(p + 38), 0);
    CU_ASSERT_EQUAL(p[40], 9); /* … TTL */
    CU_ASSERT_EQUAL(p[41] + p[42] + p[43], 0);
    if (padding >= 4) {
        CU_ASSERT_EQUAL(s[44], 0x80); /* Extra Padding, unrecognised until reflected */
        CU_ASSERT_EQUAL(p[44], 0);
        CU_ASSERT_EQUAL(p[45], 1);
        CU_ASSERT_EQUAL(test_get16(p + 46), padding - 4);
    }
    CU_ASSERT_EQUAL(stamp_kind(pkt, &in), STAMP_ANSWER);
    CU_ASSERT_EQUAL(stamp_answer_seq(pkt, &in), 77);
    CU_ASSERT_EQUAL(stamp_answer_ssid(pkt, &in), 3);
}

static void test_reflection(void)
{
    static const size_t paddings[] = {0, 1, 3, 4, 5, 100, 301};
    for (unsigned i = 0; i < sizeof paddings / sizeof paddings[0]; i++) {
        check_reflection(4, paddings[i]);
        check_reflection(6, paddings[i]);
    }
}

/* TLVs of others come back unrecognised, and lengths that lie end the walk. */
static void test_foreign_tlvs(void)
{
    struct ends e = ends_of(4);
    uint8_t pkt[128];
    size_t len = 20 + 8 + STAMP_LEN + 20;
    CU_ASSERT_EQUAL_FATAL(stamp_test(pkt, len, &e.from, &e.to, 1, 1), len);
    uint8_t *tlv = pkt + 28 + STAMP_LEN;
    static const uint8_t foreign[20] = {0x80, 9, 0, 4, 1,    2, 3,    4,
                                        0x80, 1, 0, 0, 0x80, 1, 0xff, 0xff};
    memcpy(tlv, foreign, sizeof foreign);
    struct inner in;
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
    stamp_reflect(pkt, &in);
    CU_ASSERT_EQUAL(tlv[0], 0x80);
    CU_ASSERT_EQUAL(tlv[8], 0);
    CU_ASSERT_EQUAL(tlv[12], 0);
    CU_ASSERT_TRUE(test_checksums_ok(pkt, len));
}

static enum stamp_kind kind_of(const struct test_packet *t)
{
    uint8_t pkt[256];
    size_t len = test_build(pkt, t);
    struct inner in;
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
    return stamp_kind(pkt, &in);
}

static void test_kinds(void)
{
    struct test_packet t = {.family = 4, .proto = 17, .sport = 5000, .dport = 862, .payload = 44};
    CU_ASSERT_EQUAL(kind_of(&t), STAMP_TEST);
    t.payload = 43;
    CU_ASSERT_EQUAL(kind_of(&t), STAMP_NOT);
    t.payload = 44;
    t.dport = 863;
    CU_ASSERT_EQUAL(kind_of(&t), STAMP_NOT);
    t.sport = 862;
    CU_ASSERT_EQUAL(kind_of(&t), STAMP_NOT);
    t.dport = STAMP_SENDER_PORT;
    CU_ASSERT_EQUAL(kind_of(&t), STAMP_ANSWER);
    t.proto = 6;
    CU_ASSERT_EQUAL(kind_of(&t), STAMP_NOT);
    /* A UDP length other than the packet's. */
    uint8_t pkt[256];
    t = (struct test_packet){.family = 6, .proto = 17, .sport = 1, .dport = 862, .payload = 60};
    size_t len = test_build(pkt, &t);
    test_put16(pkt + 44, 20);
    struct inner in;
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
    CU_ASSERT_EQUAL(stamp_kind(pkt, &in), STAMP_NOT);
}

int main(void)
{
    CU_TestInfo tests[] = {{"test packet", test_packet},
                           {"reflection", test_reflection},
                           {"foreign TLVs", test_foreign_tlvs},
                           {"kinds", test_kinds},
                           CU_TEST_INFO_NULL};
    return packet_test_run("stamp", tests);
}
