/* What merging emits is cut again by gso_split, so that each case can say what the receiver sees;
 * the rules themselves are judged by what is and is not merged. */
#include "agent/dataplane/gro_merge.h"
#include "agent/dataplane/gso_split.h"
#include "tests/unit/dataplane/packet_test.h"
#include <stdlib.h>

#define MAX_PACKETS 1000

static uint8_t arena[MAX_PACKETS][1600]; /* packets as offered, with room in front */
static uint8_t copies[MAX_PACKETS][1600];
static size_t lens[MAX_PACKETS];
static unsigned offered;

/* One emitted write, put together. */
struct write {
    uint8_t data[70000];
    size_t len;
    unsigned packets;
};
static struct write writes[64];
static unsigned n_writes;

static void take(void *ctx, const struct iovec *iov, unsigned n, size_t bytes, unsigned packets)
{
    CU_ASSERT_PTR_EQUAL(ctx, writes);
    CU_ASSERT_FATAL(n_writes < 64);
    struct write *w = &writes[n_writes++];
    w->len = 0;
    w->packets = packets;
    for (unsigned i = 0; i < n; i++) {
        memcpy(w->data + w->len, iov[i].iov_base, iov[i].iov_len);
        w->len += iov[i].iov_len;
    }
    CU_ASSERT_EQUAL(w->len, bytes);
}

static struct gro_merge *merge;

static void begin(bool uso)
{
    offered = n_writes = 0;
    merge = gro_merge_new(uso, take, writes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(merge);
}

static void offer_raw(size_t len)
{
    struct inner in;
    uint8_t *p = arena[offered] + 64;
    memcpy(copies[offered], p, len);
    lens[offered++] = len;
    CU_ASSERT_TRUE_FATAL(inner_parse(p, len, &in));
    gro_merge_add(merge, p, &in);
}
static void offer(const struct test_packet *t)
{
    offer_raw(test_build(arena[offered] + 64, t));
}
static void end(void)
{
    gro_merge_flush(merge);
    gro_merge_free(merge);
}

static struct test_packet tcp(int family, uint32_t seq, size_t payload)
{
    return (struct test_packet){.family = family,
                                .proto = 6,
                                .sport = 7,
                                .dport = 8,
                                .seq = seq,
                                .ack = 1,
                                .flags = 0x10,
                                .tcp_words = 8,
                                .frag = 0x4000,
                                .payload = payload};
}

/* Writes cut again must give the offered packets number first … in order; identifications that were
 * not counted up may differ, as the test says. */
static void expect_cut_back(const struct write *w, unsigned first)
{
    struct vnet_hdr vh;
    struct inner in;
    struct gso_split s;
    struct gso_segment seg;
    static uint8_t buf[70200];
    uint8_t *pkt = buf + 100;
    memcpy(pkt, w->data + VNET_HDR_LEN, w->len - VNET_HDR_LEN);
    CU_ASSERT_TRUE_FATAL(vnet_hdr_parse(w->data, w->len, w->len - VNET_HDR_LEN, &vh));
    CU_ASSERT_TRUE_FATAL(inner_parse(pkt, w->len - VNET_HDR_LEN, &in));
    CU_ASSERT_EQUAL(in.len, w->len - VNET_HDR_LEN);
    CU_ASSERT_EQUAL_FATAL(gso_split_begin(&s, pkt, &in, &vh, 65535), GSO_OK);
    unsigned i = first;
    while (gso_split_next(&s, &seg)) {
        CU_ASSERT_EQUAL_FATAL(seg.len, lens[i]);
        CU_ASSERT_EQUAL(memcmp(seg.data, copies[i], seg.len), 0);
        i++;
    }
    CU_ASSERT_EQUAL(i - first, w->packets);
}

static void test_tcp_run(void)
{
    for (int family = 4; family <= 6; family += 2) {
        begin(true);
        for (unsigned i = 0; i < 40; i++) {
            struct test_packet t = tcp(family, 0xffffff00u + i * 1000, i < 39 ? 1000 : 400);
            t.id = (uint16_t)(0xfff0 + i);
            if (i == 39)
                t.flags |= 0x09; /* PSH FIN */
            offer(&t);
        }
        CU_ASSERT_EQUAL(n_writes, 1); /* the short one ended it, before any flush */
        end();
        CU_ASSERT_EQUAL(n_writes, 1);
        CU_ASSERT_EQUAL(writes[0].packets, 40);
        expect_cut_back(&writes[0], 0);
    }
}

static void test_udp_run(void)
{
    for (int family = 4; family <= 6; family += 2) {
        begin(true);
        for (unsigned i = 0; i < 200; i++) {
            struct test_packet t = {.family = family,
                                    .proto = 17,
                                    .sport = 1,
                                    .dport = 2,
                                    .id = (uint16_t)i,
                                    .payload = 300};
            offer(&t);
        }
        end();
        CU_ASSERT_EQUAL(n_writes, 2); /* 128 is the most that TUN takes */
        CU_ASSERT_EQUAL(writes[0].packets, 128);
        expect_cut_back(&writes[0], 0);
        expect_cut_back(&writes[1], 128);
    }
    begin(false);
    for (unsigned i = 0; i < 3; i++) {
        struct test_packet t = {.family = 4, .proto = 17, .id = (uint16_t)i, .payload = 300};
        offer(&t);
    }
    CU_ASSERT_EQUAL(n_writes, 3);
    end();
}

/* No merged packet is over 65,521 bytes. */
static void test_size_cap(void)
{
    begin(true);
    for (unsigned i = 0; i < 100; i++) {
        struct test_packet t = tcp(4, i * 1448, 1448);
        t.id = (uint16_t)i;
        offer(&t);
    }
    end();
    CU_ASSERT_EQUAL(n_writes, 3);
    unsigned first = 0;
    for (unsigned i = 0; i < n_writes; i++) {
        CU_ASSERT(writes[i].len - VNET_HDR_LEN <= GRO_PACKET_MAX);
        expect_cut_back(&writes[i], first);
        first += writes[i].packets;
    }
    CU_ASSERT_EQUAL(first, 100);
    CU_ASSERT(writes[0].len - VNET_HDR_LEN + 1448 > GRO_PACKET_MAX);
}

/* Pairs whose second packet differs in one thing: both must leave as they came, in order. */
static void expect_not_merged(struct test_packet a, struct test_packet b,
                              void (*spoil)(uint8_t *pkt))
{
    begin(true);
    offer(&a);
    size_t len = test_build(arena[offered] + 64, &b);
    if (spoil)
        spoil(arena[offered] + 64);
    offer_raw(len);
    end();
    CU_ASSERT_EQUAL_FATAL(n_writes, 2);
    for (unsigned i = 0; i < 2; i++) {
        static const uint8_t plain[VNET_HDR_LEN];
        CU_ASSERT_EQUAL(writes[i].packets, 1);
        CU_ASSERT_EQUAL(memcmp(writes[i].data, plain, VNET_HDR_LEN), 0);
        CU_ASSERT_EQUAL_FATAL(writes[i].len - VNET_HDR_LEN, lens[i]);
        CU_ASSERT_EQUAL(memcmp(writes[i].data + VNET_HDR_LEN, copies[i], lens[i]), 0);
    }
}

static void spoil_payload(uint8_t *p)
{
    p[80] ^= 1;
}
/* Sets the TCP checksum anew, so that only the changed field speaks. */
static void set_tcp_checksum(uint8_t *p)
{
    size_t len = test_get16(p + 2);
    test_put16(p + 36, 0);
    test_put16(p + 36, (uint16_t)~test_sum(p + 20, len - 20, test_pseudo_sum(p, 6, len - 20)));
}
static void spoil_window(uint8_t *p)
{
    p[35] ^= 1;
    set_tcp_checksum(p);
}
static void spoil_option(uint8_t *p)
{
    p[45] ^= 1;
    set_tcp_checksum(p);
}

static void test_what_differs_is_not_merged(void)
{
    struct test_packet a = tcp(4, 0, 500), b = tcp(4, 500, 500);
    b.id = 1;
    struct test_packet x = b;
    expect_not_merged(a, x, spoil_payload);
    expect_not_merged(a, x, spoil_window);
    expect_not_merged(a, x, spoil_option);
    x.seq = 501; /* a gap */
    expect_not_merged(a, x, NULL);
    x = b;
    x.seq = 0; /* a repetition */
    expect_not_merged(a, x, NULL);
    x = b;
    x.ack = 2;
    expect_not_merged(a, x, NULL);
    x = b;
    x.tos = 3; /* CE */
    expect_not_merged(a, x, NULL);
    x = b;
    x.ttl = 63;
    expect_not_merged(a, x, NULL);
    x = b;
    x.frag = 0; /* DF differs */
    expect_not_merged(a, x, NULL);
    x = b;
    x.id = 9;
    expect_not_merged(a, x, NULL);
    x = b;
    x.payload = 501; /* longer than the first */
    expect_not_merged(a, x, NULL);
    x = b;
    x.dport = 9;
    expect_not_merged(a, x, NULL);
    x = b;
    x.flags |= 0x80; /* CWR belongs to a first segment */
    expect_not_merged(a, x, NULL);
    x = b;
    x.flags |= 0x20; /* URG */
    expect_not_merged(a, x, NULL);
    x = b;
    x.flags = 0x14; /* RST */
    expect_not_merged(a, x, NULL);
    x = b;
    x.tcp_words = 5;
    expect_not_merged(a, x, NULL);
    x = b;
    x.payload = 0; /* a pure ACK */
    expect_not_merged(a, x, NULL);
    struct test_packet noisy = a;
    noisy.flags |= 0x08; /* PSH ends it at once */
    expect_not_merged(noisy, b, NULL);
    struct test_packet u = {.family = 4, .proto = 17, .payload = 300}, v = u;
    v.payload = 301;
    v.id = 1;
    expect_not_merged(u, v, NULL);
}

/* With DF a sender may leave the identification at one value; without, it must count. */
static void test_identification(void)
{
    begin(true);
    struct test_packet a = tcp(4, 0, 500), b = tcp(4, 500, 500);
    offer(&a);
    offer(&b);
    end();
    CU_ASSERT_EQUAL(n_writes, 1);
    a.frag = b.frag = 0;
    expect_not_merged(a, b, NULL);
}

/* A first packet with a bad checksum leaves as it came, and the next ones still merge. */
static void test_bad_first(void)
{
    begin(true);
    struct test_packet t = tcp(4, 0, 500);
    size_t len = test_build(arena[0] + 64, &t);
    arena[0][64 + 100] ^= 1;
    offer_raw(len);
    for (unsigned i = 1; i < 4; i++) {
        t = tcp(4, i * 500, 500);
        t.id = (uint16_t)i;
        offer(&t);
    }
    end();
    CU_ASSERT_EQUAL_FATAL(n_writes, 2);
    CU_ASSERT_EQUAL(writes[0].packets, 1);
    CU_ASSERT_EQUAL(memcmp(writes[0].data + VNET_HDR_LEN, copies[0], lens[0]), 0);
    CU_ASSERT_EQUAL(writes[1].packets, 3);
    expect_cut_back(&writes[1], 1);
}

/* Flows interleaved packet by packet each come out whole; more flows than can be held only merge
 * less. */
static void test_interleaved_flows(void)
{
    for (unsigned flows = 2; flows <= GRO_FLOWS; flows += 6) {
        begin(true);
        for (unsigned i = 0; i < 10; i++)
            for (unsigned f = 0; f < flows; f++) {
                struct test_packet t = tcp(6, i * 100, 100);
                t.sport = (uint16_t)(1000 + f);
                offer(&t);
            }
        end();
        CU_ASSERT_EQUAL(n_writes, flows);
    }
    begin(true);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned f = 0; f < GRO_FLOWS + 2; f++) {
            struct test_packet t = tcp(6, i * 100, 100);
            t.sport = (uint16_t)(1000 + f);
            offer(&t);
        }
    end();
    unsigned total = 0;
    for (unsigned i = 0; i < n_writes; i++)
        total += writes[i].packets;
    CU_ASSERT_EQUAL(total, 3 * (GRO_FLOWS + 2));
}

/* A packet that can't be merged pushes out what is held of its own flow, and nothing of another's.
 */
static void test_order_within_a_flow(void)
{
    begin(true);
    struct test_packet a = tcp(4, 0, 500), b = tcp(4, 500, 500), other = tcp(4, 0, 500),
                       rst = tcp(4, 1000, 0);
    b.id = 1;
    other.sport = 99;
    rst.flags = 0x14;
    offer(&other);
    offer(&a);
    offer(&b);
    offer(&rst);
    CU_ASSERT_EQUAL_FATAL(n_writes, 2);
    CU_ASSERT_EQUAL(writes[0].packets, 2);
    CU_ASSERT_EQUAL(writes[1].data[VNET_HDR_LEN + 33], 0x14);
    end();
    CU_ASSERT_EQUAL(n_writes, 3);

    begin(true);
    struct test_packet u = {.family = 4, .proto = 17, .sport = 1, .dport = 2, .payload = 100},
                       part = u;
    part.frag = 0x2000;
    part.sport = 77;
    offer(&u);
    offer(&part);
    CU_ASSERT_EQUAL(n_writes, 2);
    CU_ASSERT_EQUAL(test_get16(writes[1].data + VNET_HDR_LEN + 6), 0x2000);
    end();
}

static void test_cwr_on_the_first(void)
{
    begin(true);
    struct test_packet a = tcp(4, 0, 500), b = tcp(4, 500, 500);
    a.flags |= 0x80;
    b.id = 1;
    offer(&a);
    offer(&b);
    end();
    CU_ASSERT_EQUAL_FATAL(n_writes, 1);
    CU_ASSERT_EQUAL(writes[0].data[1], VNET_GSO_TCPV4 | VNET_GSO_ECN);
    expect_cut_back(&writes[0], 0);
}

int main(void)
{
    CU_TestInfo tests[] = {{"TCP run", test_tcp_run},
                           {"UDP run", test_udp_run},
                           {"size cap", test_size_cap},
                           {"what differs is not merged", test_what_differs_is_not_merged},
                           {"identification", test_identification},
                           {"bad first", test_bad_first},
                           {"interleaved flows", test_interleaved_flows},
                           {"order within a flow", test_order_within_a_flow},
                           {"CWR on the first", test_cwr_on_the_first},
                           CU_TEST_INFO_NULL};
    return packet_test_run("gro_merge", tests);
}
