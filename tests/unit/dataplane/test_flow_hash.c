#include "agent/dataplane/flow_hash.h"
#include "tests/unit/dataplane/packet_test.h"

#define FLOW_SEED   0x1122334455667788ull
#define TUNNEL_SEED 0x99aabbccddeeff00ull

static uint64_t hash_of(const uint8_t *pkt, size_t len)
{
    struct inner in;
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, len, &in));
    return flow_hash(pkt, &in, FLOW_SEED);
}

static void swap_bytes(uint8_t *a, uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}
/* The same flow seen from the other end; sums over swapped words stay right. */
static void reverse(uint8_t *pkt)
{
    bool v4 = pkt[0] >> 4 == 4;
    size_t l4 = v4 ? 20 : 40;
    swap_bytes(pkt + (v4 ? 12 : 8), pkt + (v4 ? 16 : 24), v4 ? 4 : 16);
    swap_bytes(pkt + l4, pkt + l4 + 2, 2);
}

static void test_both_directions_are_one_flow(void)
{
    uint8_t pkt[200];
    uint64_t rng = 1;
    for (int i = 0; i < 2000; i++) {
        struct test_packet t = {.family = i & 1 ? 4 : 6,
                                .proto = i & 2 ? 6 : 17,
                                .sport = (uint16_t)test_random(&rng),
                                .dport = (uint16_t)test_random(&rng)};
        size_t len = test_build(pkt, &t);
        uint64_t there = hash_of(pkt, len);
        reverse(pkt);
        CU_ASSERT_EQUAL(hash_of(pkt, len), there);
    }
}

/* Only address to its port belongs together: exchanging the ports alone is another flow. */
static void test_every_field_counts(void)
{
    uint8_t pkt[200];
    struct test_packet t = {.family = 4, .proto = 6, .sport = 1000, .dport = 2000}, x = t;
    uint64_t base = hash_of(pkt, test_build(pkt, &t));
    x.sport = 1001;
    CU_ASSERT_NOT_EQUAL(hash_of(pkt, test_build(pkt, &x)), base);
    x = t;
    x.proto = 17;
    CU_ASSERT_NOT_EQUAL(hash_of(pkt, test_build(pkt, &x)), base);
    x = t;
    x.sport = 2000;
    x.dport = 1000;
    CU_ASSERT_NOT_EQUAL(hash_of(pkt, test_build(pkt, &x)), base);
    struct inner in;
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, test_build(pkt, &t), &in));
    CU_ASSERT_NOT_EQUAL(flow_hash(pkt, &in, FLOW_SEED + 1), base);
    /* but not what changes along the flow */
    x = t;
    x.seq = 99;
    x.payload = 40;
    x.tos = 8;
    x.id = 7;
    CU_ASSERT_EQUAL(hash_of(pkt, test_build(pkt, &x)), base);
}

static void test_fragments_share_one_hash(void)
{
    uint8_t pkt[200];
    struct test_packet t = {
        .family = 4, .proto = 17, .sport = 1, .dport = 2, .payload = 64, .frag = 0x2000};
    uint64_t first = hash_of(pkt, test_build(pkt, &t));
    t.sport = 0x4141; /* payload of a later fragment stands there */
    t.frag = 0x0009;
    CU_ASSERT_EQUAL(hash_of(pkt, test_build(pkt, &t)), first);
}

/* Only the first fragment shows what stands behind the destination options. */
static void test_ipv6_fragments_share_one_hash(void)
{
    uint8_t first[72], later[72], error[120];
    struct test_packet t = {.family = 6, .proto = 17, .sport = 1, .dport = 2, .payload = 24};
    CU_ASSERT_EQUAL_FATAL(test_build(first, &t), sizeof first);
    first[6] = 44;
    static const uint8_t chain[24] = {60, 0, 0, 1, 0, 0, 0, 7, 17, 0, 1, 4, 0, 0, 0, 0, 0, 1, 0, 2};
    memcpy(first + 40, chain, sizeof chain);
    memcpy(later, first, sizeof later);
    test_put16(later + 42, 24); /* offset 24, the last one */
    CU_ASSERT_EQUAL(hash_of(later, sizeof later), hash_of(first, sizeof first));
    struct test_packet e = {.family = 6, .proto = 58, .payload = 72};
    size_t len = test_build(error, &e);
    error[40] = 3;
    memcpy(error + 48, first, sizeof first);
    CU_ASSERT_EQUAL_FATAL(len, sizeof error);
    CU_ASSERT_EQUAL(hash_of(error, len), hash_of(first, sizeof first));
}

/* An ICMP error about a packet of a flow takes the flow's way back. */
static void test_icmp_errors_follow_the_quoted_flow(void)
{
    uint8_t pkt[300], quoted[200];
    for (int family = 4; family <= 6; family += 2) {
        struct test_packet t = {
            .family = family, .proto = 6, .sport = 1000, .dport = 2000, .payload = 60};
        size_t qlen = test_build(quoted, &t), l4 = family == 4 ? 20 : 40;
        uint64_t flow = hash_of(quoted, qlen);
        struct test_packet e = {.family = family, .proto = family == 4 ? 1 : 58, .payload = 0};
        for (size_t keep = l4 + 8; keep <= qlen; keep += qlen - l4 - 8) {
            test_build(pkt, &e);
            uint8_t *icmp = pkt + l4;
            icmp[0] = family == 4 ? 3 : 2;
            memcpy(icmp + 8, quoted, keep);
            size_t len = l4 + 8 + keep;
            if (family == 4) {
                test_put16(pkt + 2, (unsigned)len);
                test_put16(pkt + 10, 0);
                test_put16(pkt + 10, (uint16_t)~test_sum(pkt, 20, 0));
            } else {
                test_put16(pkt + 4, (unsigned)(len - 40));
            }
            CU_ASSERT_EQUAL(hash_of(pkt, len), flow);
            icmp[0] = family == 4 ? 8 : 128; /* an echo request quotes nothing */
            CU_ASSERT_NOT_EQUAL(hash_of(pkt, len), flow);
        }
    }
}

static double worst_share(const unsigned *count, unsigned n, unsigned flows)
{
    unsigned most = 0;
    for (unsigned i = 0; i < n; i++)
        most = count[i] > most ? count[i] : most;
    return (double)most * n / flows;
}

/* Flows as a load test makes them: one pair of hosts, ports counting up; and many clients to one
 * service. */
static void test_spread(void)
{
    enum { FLOWS = 4096, TUNNELS = 8 };
    uint8_t pkt[200];
    for (int shape = 0; shape < 4; shape++) {
        unsigned tunnel[TUNNELS] = {0}, member[4] = {0}, both[4][TUNNELS] = {{0}};
        for (unsigned i = 0; i < FLOWS; i++) {
            struct test_packet t = {
                .family = shape & 1 ? 6 : 4, .proto = 6, .sport = 40000, .dport = 5201};
            if (shape < 2)
                t.sport = (uint16_t)(32768 + i * 2);
            size_t len = test_build(pkt, &t);
            if (shape >= 2) {
                size_t at = t.family == 4 ? 14 : 22;
                test_put16(pkt + at, i);
                test_put16(pkt + 10, 0);
                if (t.family == 4)
                    test_put16(pkt + 10, (uint16_t)~test_sum(pkt, 20, 0));
            }
            uint64_t h = hash_of(pkt, len);
            unsigned m = flow_hash_pick(h, 4),
                     k = flow_hash_pick(flow_hash_again(h, TUNNEL_SEED), TUNNELS);
            member[m]++;
            tunnel[k]++;
            both[m][k]++;
        }
        CU_ASSERT(worst_share(tunnel, TUNNELS, FLOWS) <= 1.15);
        CU_ASSERT(worst_share(member, 4, FLOWS) <= 1.10);
        for (unsigned m = 0; m < 4; m++) /* the second choice doesn't depend on the first */
            CU_ASSERT(worst_share(both[m], TUNNELS, member[m]) <= 1.35);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"both directions are one flow", test_both_directions_are_one_flow},
        {"every field counts", test_every_field_counts},
        {"fragments share one hash", test_fragments_share_one_hash},
        {"IPv6 fragments too", test_ipv6_fragments_share_one_hash},
        {"ICMP errors follow the quoted flow", test_icmp_errors_follow_the_quoted_flow},
        {"spread", test_spread},
        CU_TEST_INFO_NULL};
    return packet_test_run("flow_hash", tests);
}
