#include "agent/dataplane/checksum.h"
#include "agent/dataplane/inner.h"
#include "tests/unit/dataplane/packet_test.h"
#include <arpa/inet.h>
#include <stdlib.h>

/* Parses a copy of exactly `len` bytes on the heap, so that a read beyond them is caught. */
static bool parses(const uint8_t *pkt, size_t len, struct inner *out)
{
    uint8_t *copy = malloc(len ? len : 1);
    memcpy(copy, pkt, len);
    bool ok = inner_parse(copy, len, out);
    free(copy);
    return ok;
}

static void test_fields(void)
{
    uint8_t pkt[200];
    struct inner in;
    struct test_packet t = {.family = 4,
                            .proto = 6,
                            .sport = 1234,
                            .dport = 443,
                            .payload = 10,
                            .tos = 0xb9,
                            .frag = 0x4000};
    size_t len = test_build(pkt, &t);
    CU_ASSERT_TRUE_FATAL(
        inner_parse(pkt, len + 50, &in)); /* bytes behind the packet are not its own */
    CU_ASSERT_EQUAL(in.family, 4);
    CU_ASSERT_EQUAL(in.len, len);
    CU_ASSERT_EQUAL(in.l4, 20);
    CU_ASSERT_EQUAL(in.proto, 6);
    CU_ASSERT_EQUAL(in.sport, 1234);
    CU_ASSERT_EQUAL(in.dport, 443);
    CU_ASSERT_EQUAL(in.tos, 0xb9);
    CU_ASSERT_EQUAL(in.ttl, 64);
    CU_ASSERT_EQUAL(in.flags, INNER_DF | INNER_PORTS);
    CU_ASSERT_EQUAL(in.dst[1], 2);
    t.family = 6;
    t.proto = 17;
    len = test_build(pkt, &t);
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
    CU_ASSERT_EQUAL(in.family, 6);
    CU_ASSERT_EQUAL(in.len, len);
    CU_ASSERT_EQUAL(in.l4, 40);
    CU_ASSERT_EQUAL(in.tos, 0xb9);
    CU_ASSERT_EQUAL(in.flags, INNER_DF | INNER_PORTS);
    CU_ASSERT_EQUAL(in.src[15], 9);
}

static void test_bad_lengths(void)
{
    uint8_t pkt[200];
    struct inner in;
    for (int family = 4; family <= 6; family += 2) {
        struct test_packet t = {.family = family, .proto = 17, .payload = 10};
        size_t len = test_build(pkt, &t);
        CU_ASSERT_TRUE(parses(pkt, len, &in));
        for (size_t cut = 0; cut < len; cut++)
            CU_ASSERT_FALSE(parses(pkt, cut, &in));
    }
    struct test_packet t = {.family = 4, .proto = 17, .payload = 10};
    size_t len = test_build(pkt, &t);
    pkt[0] = 0x44;
    checksum_ipv4_set(pkt, 16);
    CU_ASSERT_FALSE(parses(pkt, len, &in));
    test_build(pkt, &t);
    pkt[0] = 0x55;
    CU_ASSERT_FALSE(parses(pkt, len, &in));
    test_build(pkt, &t);
    test_put16(pkt + 2, 19);
    checksum_ipv4_set(pkt, 20);
    CU_ASSERT_FALSE(parses(pkt, len, &in));
    test_build(pkt, &t);
    pkt[12] ^= 1; /* header checksum no longer fits */
    CU_ASSERT_FALSE(parses(pkt, len, &in));
}

static void test_fragments(void)
{
    uint8_t pkt[200];
    struct inner in;
    struct test_packet t = {.family = 4, .proto = 17, .payload = 16, .frag = 0x2000};
    size_t len = test_build(pkt, &t);
    CU_ASSERT_TRUE(inner_parse(pkt, len, &in));
    CU_ASSERT_EQUAL(in.flags, INNER_FRAGMENT | INNER_PORTS);
    t.frag = 0x0010;
    len = test_build(pkt, &t);
    CU_ASSERT_TRUE(inner_parse(pkt, len, &in));
    CU_ASSERT_EQUAL(in.flags, INNER_FRAGMENT | INNER_LATER);
}

/* hop-by-hop, destination options, fragment, UDP */
static size_t build_extended(uint8_t *pkt, uint16_t fragment_field)
{
    struct test_packet t = {.family = 6, .proto = 17, .sport = 5, .dport = 6, .payload = 32};
    size_t len = test_build(pkt, &t);
    memmove(pkt + 72, pkt + 40, len - 40);
    memset(pkt + 40, 0, 32);
    pkt[6] = 0;
    pkt[40] = 60;
    pkt[48] = 44;
    pkt[49] = 1; /* 16 bytes */
    pkt[64] = 17;
    test_put16(pkt + 66, fragment_field);
    len += 32;
    test_put16(pkt + 4, (unsigned)(len - 40));
    return len;
}

static void test_extension_headers(void)
{
    uint8_t pkt[300];
    struct inner in;
    size_t len = build_extended(pkt, 1);
    CU_ASSERT_TRUE_FATAL(parses(pkt, len, &in));
    CU_ASSERT_EQUAL(in.proto, 17);
    CU_ASSERT_EQUAL(in.l4, 72);
    CU_ASSERT_EQUAL(in.sport, 5);
    CU_ASSERT_EQUAL(in.flags, INNER_DF | INNER_OPTIONS | INNER_FRAGMENT | INNER_PORTS);
    len = build_extended(pkt, 0x0100);
    CU_ASSERT_TRUE_FATAL(parses(pkt, len, &in));
    CU_ASSERT_EQUAL(in.proto, 17);
    CU_ASSERT_EQUAL(in.flags, INNER_DF | INNER_OPTIONS | INNER_FRAGMENT | INNER_LATER);
    pkt[49] = 200; /* an extension header that ends beyond the packet */
    CU_ASSERT_FALSE(parses(pkt, len, &in));
}

static void test_endless_extension_chain(void)
{
    uint8_t pkt[40 + 8 * 40] = {0x60};
    struct inner in;
    test_put16(pkt + 4, sizeof pkt - 40);
    pkt[6] = 60;
    for (size_t at = 40; at < sizeof pkt; at += 8)
        pkt[at] = 60;
    CU_ASSERT_FALSE(parses(pkt, sizeof pkt, &in));
}

static void test_ttl(void)
{
    uint8_t pkt[200];
    struct inner in;
    for (int family = 4; family <= 6; family += 2) {
        for (unsigned ttl = 2; ttl < 256; ttl++) {
            struct test_packet t = {.family = family, .proto = 6, .ttl = (uint8_t)ttl};
            size_t len = test_build(pkt, &t);
            CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
            CU_ASSERT_TRUE(inner_ttl_decrement(pkt, &in));
            CU_ASSERT_EQUAL(in.ttl, ttl - 1);
            CU_ASSERT_TRUE(inner_parse(pkt, len, &in));
            CU_ASSERT_EQUAL(in.ttl, ttl - 1);
        }
        struct test_packet t = {.family = family, .proto = 6, .ttl = 1};
        size_t len = test_build(pkt, &t);
        CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
        CU_ASSERT_FALSE(inner_ttl_decrement(pkt, &in));
        CU_ASSERT_TRUE(inner_parse(pkt, len, &in));
        CU_ASSERT_EQUAL(in.ttl, 1);
    }
}

/* RFC 6040 figure 4, as printed there. */
static void test_link_scope(void)
{
    static const struct {
        int family;
        const char *dst;
        bool scoped;
    } rows[] = {
        {4, "224.0.0.22", true}, {4, "224.0.1.1", false}, {4, "10.0.0.22", false},
        {6, "ff02::16", true},   {6, "ff01::2", true},    {6, "ff12::1", true},
        {6, "ff05::2", false},   {6, "ff0e::101", false}, {6, "fe80::1", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t dst[16];
        CU_ASSERT_EQUAL_FATAL(inet_pton(rows[i].family == 4 ? AF_INET : AF_INET6, rows[i].dst, dst),
                              1);
        struct inner in = {.family = (uint8_t)rows[i].family, .dst = dst};
        CU_ASSERT_EQUAL(inner_link_scope(&in), rows[i].scoped);
    }
}

static void test_ecn_table(void)
{
    enum { NOT = 0, E1 = 1, E0 = 2, CE = 3, DROP = 4 };
    static const struct {
        uint8_t inner, outer, result;
    } rows[] = {
        {NOT, NOT, NOT}, {NOT, E0, NOT}, {NOT, E1, NOT}, {NOT, CE, DROP},
        {E0, NOT, E0},   {E0, E0, E0},   {E0, E1, E1},   {E0, CE, CE},
        {E1, NOT, E1},   {E1, E0, E1},   {E1, E1, E1},   {E1, CE, CE},
        {CE, NOT, CE},   {CE, E0, CE},   {CE, E1, CE},   {CE, CE, CE},
    };
    uint8_t pkt[200];
    struct inner in;
    for (int family = 4; family <= 6; family += 2)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            struct test_packet t = {
                .family = family, .proto = 6, .tos = (uint8_t)(0xb8 | rows[i].inner)};
            size_t len = test_build(pkt, &t);
            CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
            /* the outer DSCP is another one: it must not come in */
            bool kept = inner_ecn_decapsulate(pkt, &in, (uint8_t)(0x20 | rows[i].outer));
            CU_ASSERT_EQUAL(kept, rows[i].result != DROP);
            CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
            CU_ASSERT_EQUAL(in.tos, 0xb8 | (kept ? rows[i].result : rows[i].inner));
        }
}

int main(void)
{
    CU_TestInfo tests[] = {{"fields", test_fields},
                           {"bad lengths", test_bad_lengths},
                           {"fragments", test_fragments},
                           {"extension headers", test_extension_headers},
                           {"endless extension chain", test_endless_extension_chain},
                           {"TTL", test_ttl},
                           {"multicast of link scope", test_link_scope},
                           {"ECN table", test_ecn_table},
                           CU_TEST_INFO_NULL};
    return packet_test_run("inner", tests);
}
