/* What the packet tests share: running one suite, a fixed-seed generator, hex, and small packet
 * makers. */
#ifndef HAWSER_TESTS_PACKET_TEST_H
#define HAWSER_TESTS_PACKET_TEST_H

#include <CUnit/Basic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Runs the tests as one suite and returns the program's exit code. */
static inline int packet_test_run(const char *suite, CU_TestInfo *tests)
{
    CU_SuiteInfo suites[] = {{.pName = suite, .pTests = tests}, CU_SUITE_INFO_NULL};
    if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
        return 2;
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed ? 1 : 0;
}

/* xorshift64*: the same numbers on every run. */
static inline uint64_t test_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}
static inline void test_fill(uint64_t *state, void *p, size_t len)
{
    uint8_t *b = p;
    for (size_t i = 0; i < len; i++)
        b[i] = (uint8_t)(test_random(state) >> 56);
}

/* RFC 1071 word by word: judges the fast one. */
static inline uint16_t test_sum(const uint8_t *p, size_t len, uint32_t sum)
{
    for (size_t i = 0; i < len; i++)
        sum += (uint32_t)p[i] << (i % 2 ? 0 : 8);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

static inline void test_put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}
static inline void test_put32(uint8_t *p, uint32_t v)
{
    test_put16(p, v >> 16);
    test_put16(p + 2, v & 0xffff);
}
static inline unsigned test_get16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}
static inline uint32_t test_get32(const uint8_t *p)
{
    return (uint32_t)test_get16(p) << 16 | test_get16(p + 2);
}

/* Sum of the pseudo header of a packet without options or extension headers. */
static inline uint16_t test_pseudo_sum(const uint8_t *ip, uint8_t proto, size_t l4_len)
{
    bool v4 = ip[0] >> 4 == 4;
    uint32_t rest = proto + (uint32_t)(l4_len >> 16) + (uint32_t)(l4_len & 0xffff);
    return v4 ? test_sum(ip + 12, 8, rest) : test_sum(ip + 8, 32, rest);
}
/* True when header and upper-layer checksums of a whole packet without extension headers are right.
 */
static inline bool test_checksums_ok(const uint8_t *ip, size_t len)
{
    bool v4 = ip[0] >> 4 == 4;
    size_t l4 = v4 ? (size_t)(ip[0] & 15) * 4 : 40;
    uint8_t proto = v4 ? ip[9] : ip[6];
    if (v4 && test_sum(ip, l4, 0) != 0xffff)
        return false;
    return test_sum(ip + l4, len - l4, test_pseudo_sum(ip, proto, len - l4)) == 0xffff;
}

struct test_packet {
    int family; /* 4 or 6 */
    uint8_t proto;
    uint16_t sport, dport;
    uint32_t seq, ack;
    uint8_t flags;     /* TCP */
    uint8_t tcp_words; /* TCP header length in words; 5 when 0 */
    uint16_t id;       /* IPv4 */
    uint16_t frag;     /* IPv4: flags and offset */
    uint8_t tos, ttl;  /* ttl 64 when 0 */
    size_t payload;    /* bytes, filled by position from `first` on */
    uint32_t first;
    bool partial; /* checksum field holds the pseudo header's sum only */
};

/* Builds the packet at p and returns its length. Hosts are 10.1.0.9 and 10.2.0.7, or fd01::9 and
 * fd02::7. */
static inline size_t test_build(uint8_t *p, const struct test_packet *t)
{
    size_t l4 = t->family == 4 ? 20 : 40;
    size_t words = t->tcp_words ? t->tcp_words : 5;
    size_t l4_hdr = t->proto == 6 ? words * 4 : 8;
    size_t l4_len = l4_hdr + t->payload, len = l4 + l4_len;
    memset(p, 0, l4 + l4_hdr);
    if (t->family == 4) {
        p[0] = 0x45;
        p[1] = t->tos;
        test_put16(p + 2, (unsigned)len);
        test_put16(p + 4, t->id);
        test_put16(p + 6, t->frag);
        p[8] = t->ttl ? t->ttl : 64;
        p[9] = t->proto;
        memcpy(p + 12, (uint8_t[]){10, 1, 0, 9, 10, 2, 0, 7}, 8);
        test_put16(p + 10, (uint16_t)~test_sum(p, 20, 0));
    } else {
        p[0] = (uint8_t)(0x60 | t->tos >> 4);
        p[1] = (uint8_t)(t->tos << 4);
        test_put16(p + 4, (unsigned)l4_len);
        p[6] = t->proto;
        p[7] = t->ttl ? t->ttl : 64;
        p[8] = p[24] = 0xfd;
        p[9] = 1;
        p[25] = 2;
        p[23] = 9;
        p[39] = 7;
    }
    uint8_t *q = p + l4;
    test_put16(q, t->sport);
    test_put16(q + 2, t->dport);
    if (t->proto == 6) {
        test_put32(q + 4, t->seq);
        test_put32(q + 8, t->ack);
        q[12] = (uint8_t)(words << 4);
        q[13] = t->flags;
        test_put16(q + 14, 500);
        for (size_t i = 20; i < l4_hdr; i++)
            q[i] = 1;
    } else {
        test_put16(q + 4, (unsigned)l4_len);
    }
    for (size_t i = 0; i < t->payload; i++)
        q[l4_hdr + i] = (uint8_t)((t->first + i) * 131 >> 3);
    uint8_t *sum = q + (t->proto == 6 ? 16 : 6);
    uint16_t pseudo = test_pseudo_sum(p, t->proto, l4_len);
    if (t->partial) {
        test_put16(sum, pseudo);
    } else {
        uint16_t v = (uint16_t)~test_sum(q, l4_len, pseudo);
        test_put16(sum, v == 0 && t->proto == 17 ? 0xffff : v);
    }
    return len;
}

#endif
