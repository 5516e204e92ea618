/* Segments are judged by the reference checksum and by rebuilding what each must be from the same
 * payload. */
#include "agent/dataplane/checksum.h"
#include "agent/dataplane/gso_split.h"
#include "tests/unit/dataplane/packet_test.h"

static uint8_t buf[70000];
#define PKT (buf + 128)

struct result {
    enum gso_result rc;
    unsigned n;
    size_t payload; /* of all segments */
};

/* Splits the packet, giving each segment to `judge`. */
static struct result split(size_t len, const struct vnet_hdr *vh, uint32_t mtu,
                           void (*judge)(const struct gso_segment *seg, unsigned i))
{
    struct inner in;
    struct gso_split s;
    struct gso_segment seg;
    struct result r = {0};
    CU_ASSERT_TRUE_FATAL(inner_parse(PKT, len, &in));
    r.rc = gso_split_begin(&s, PKT, &in, vh, mtu);
    if (r.rc != GSO_OK)
        return r;
    unsigned expected = gso_split_count(&s);
    while (gso_split_next(&s, &seg)) {
        CU_ASSERT(seg.len <= mtu);
        judge(&seg, r.n);
        r.n++;
        r.payload += seg.len - s.hdr_len;
    }
    CU_ASSERT_EQUAL(r.n, expected);
    return r;
}

/* The super-packet under test, for the judge. */
static struct test_packet super;
static size_t gso_size;

/* Segment i must equal, byte for byte, the packet that a host would have sent by itself. */
static void judge_segment(const struct gso_segment *seg, unsigned i)
{
    static uint8_t want[70000];
    struct test_packet t = super;
    size_t at = i * gso_size, left = super.payload - at;
    bool last = left <= gso_size;
    t.partial = false;
    t.payload = last ? left : gso_size;
    t.first = (uint32_t)at;
    t.seq = super.seq + (uint32_t)at;
    t.id = (uint16_t)(super.id + i);
    if (i > 0)
        t.flags &= 0x7f;
    if (!last)
        t.flags &= (uint8_t)~0x09;
    size_t len = test_build(want, &t);
    CU_ASSERT_TRUE(test_checksums_ok(want, len));
    if (len != seg->len || memcmp(want, seg->data, len) != 0)
        CU_FAIL_FATAL("segment differs from the packet it stands for");
}

static struct vnet_hdr super_hdr(const struct test_packet *t, uint16_t size)
{
    bool tcp = t->proto == 6;
    return (struct vnet_hdr){.flags = VNET_F_NEEDS_CSUM,
                             .gso_type = !tcp             ? VNET_GSO_UDP_L4
                                         : t->family == 4 ? VNET_GSO_TCPV4
                                                          : VNET_GSO_TCPV6,
                             .gso_size = size,
                             .csum_start = t->family == 4 ? 20 : 40,
                             .csum_offset = tcp ? 16 : 6};
}

static void test_super_packets(void)
{
    static const size_t payloads[] = {1, 99, 100, 101, 1448, 1449, 5000, 28960, 65000};
    static const uint16_t sizes[] = {8, 100, 1200, 1386, 1448};
    for (int family = 4; family <= 6; family += 2)
        for (unsigned proto = 6; proto <= 17; proto += 11)
            for (size_t p = 0; p < sizeof payloads / sizeof payloads[0]; p++)
                for (size_t z = 0; z < sizeof sizes / sizeof sizes[0]; z++) {
                    super = (struct test_packet){.family = family,
                                                 .proto = (uint8_t)proto,
                                                 .sport = 5,
                                                 .dport = 6,
                                                 .seq = 0xfffff000, /* wraps */
                                                 .ack = 77,
                                                 .flags = 0x99, /* CWR ACK PSH FIN */
                                                 .tcp_words = 8,
                                                 .id = 0xfffe,
                                                 .frag = 0x4000,
                                                 .tos = 2,
                                                 .payload = payloads[p],
                                                 .partial = true};
                    gso_size = sizes[z];
                    struct vnet_hdr vh = super_hdr(&super, sizes[z]);
                    struct result r = split(test_build(PKT, &super), &vh, 1520, judge_segment);
                    CU_ASSERT_EQUAL(r.rc, GSO_OK);
                    CU_ASSERT_EQUAL(r.payload, super.payload);
                }
}

static void judge_checksums_bad(const struct gso_segment *seg, unsigned i)
{
    (void)i;
    CU_ASSERT_FALSE(test_checksums_ok(seg->data, seg->len));
}

static void test_bad_partial_sum_stays_bad(void)
{
    struct test_packet t = {
        .family = 4, .proto = 6, .payload = 5000, .flags = 0x10, .partial = true};
    struct vnet_hdr vh = super_hdr(&t, 1000);
    size_t len = test_build(PKT, &t);
    PKT[36] ^= 4;
    CU_ASSERT_EQUAL(split(len, &vh, 1500, judge_checksums_bad).n, 5);
}

static void judge_checksums_ok(const struct gso_segment *seg, unsigned i)
{
    (void)i;
    CU_ASSERT_TRUE(test_checksums_ok(seg->data, seg->len));
}

static void test_single_packets(void)
{
    for (int family = 4; family <= 6; family += 2)
        for (unsigned proto = 6; proto <= 17; proto += 11) {
            struct test_packet t = {
                .family = family, .proto = (uint8_t)proto, .payload = 1001, .partial = true};
            struct vnet_hdr vh = super_hdr(&t, 0);
            vh.gso_type = VNET_GSO_NONE;
            struct result r = split(test_build(PKT, &t), &vh, 1500, judge_checksums_ok);
            CU_ASSERT_EQUAL(r.n, 1);
            /* one that came whole passes untouched, a wrong checksum too */
            t.partial = false;
            vh.flags = 0;
            size_t len = test_build(PKT, &t);
            PKT[len - 1] ^= 1;
            r = split(len, &vh, 1500, judge_checksums_bad);
            CU_ASSERT_EQUAL(r.n, 1);
        }
}

static void judge_never(const struct gso_segment *seg, unsigned i)
{
    (void)seg;
    (void)i;
    CU_FAIL("nothing may be yielded");
}

static void test_too_big(void)
{
    struct test_packet t = {
        .family = 4, .proto = 6, .payload = 5000, .flags = 0x10, .partial = true};
    struct vnet_hdr vh = super_hdr(&t, 1461), plain = {0};
    CU_ASSERT_EQUAL(split(test_build(PKT, &t), &vh, 1500, judge_never).rc, GSO_TOO_BIG);
    vh.gso_size = 1460;
    CU_ASSERT_EQUAL(split(test_build(PKT, &t), &vh, 1500, judge_checksums_ok).rc, GSO_OK);
    /* a size over the MTU doesn't matter when the only segment is smaller */
    t.payload = 1000;
    vh.gso_size = 9000;
    CU_ASSERT_EQUAL(split(test_build(PKT, &t), &vh, 1500, judge_checksums_ok).n, 1);
    t = (struct test_packet){.family = 4, .proto = 17, .payload = 1473, .frag = 0x4000};
    CU_ASSERT_EQUAL(split(test_build(PKT, &t), &plain, 1500, judge_never).rc, GSO_TOO_BIG);
    t.family = 6;
    CU_ASSERT_EQUAL(split(test_build(PKT, &t), &plain, 1500, judge_never).rc, GSO_TOO_BIG);
}

/* Headers that contradict the virtio header. */
static void test_inconsistent(void)
{
    struct test_packet t = {
        .family = 4, .proto = 6, .payload = 5000, .flags = 0x10, .partial = true};
    const struct vnet_hdr good = super_hdr(&t, 1000);
    struct vnet_hdr vh = good;
    size_t len = test_build(PKT, &t);
    vh.gso_type = VNET_GSO_TCPV6;
    CU_ASSERT_EQUAL(split(len, &vh, 1500, judge_never).rc, GSO_BAD);
    vh.gso_type = VNET_GSO_UDP_L4;
    CU_ASSERT_EQUAL(split(len, &vh, 1500, judge_never).rc, GSO_BAD);
    vh = good;
    vh.csum_start = 24;
    CU_ASSERT_EQUAL(split(len, &vh, 1500, judge_never).rc, GSO_BAD);
    vh = good;
    vh.csum_offset = 6;
    CU_ASSERT_EQUAL(split(len, &vh, 1500, judge_never).rc, GSO_BAD);
    PKT[32] = 0x40; /* TCP header of 16 bytes */
    CU_ASSERT_EQUAL(split(len, &good, 1500, judge_never).rc, GSO_BAD);
    t.payload = 4;
    len = test_build(PKT, &t);
    PKT[32] = 0xf0; /* longer than the packet */
    CU_ASSERT_EQUAL(split(len, &good, 1500, judge_never).rc, GSO_BAD);
    t.payload = 0;
    CU_ASSERT_EQUAL(split(test_build(PKT, &t), &good, 1500, judge_never).rc, GSO_BAD);
    t.payload = 3000;
    t.frag = 0x2000;
    CU_ASSERT_EQUAL(split(test_build(PKT, &t), &good, 1500, judge_never).rc, GSO_BAD);
    struct vnet_hdr outside = {.flags = VNET_F_NEEDS_CSUM, .csum_start = 3030, .csum_offset = 16};
    t.frag = 0;
    CU_ASSERT_EQUAL(split(test_build(PKT, &t), &outside, 9000, judge_never).rc, GSO_BAD);
}

/* Reassembles by the offsets that the fragments carry. */
static uint8_t whole[70000];
static size_t whole_len, more_count;
static unsigned option_bytes[8];

static void judge_fragment(const struct gso_segment *seg, unsigned i)
{
    size_t ihl = (size_t)(seg->data[0] & 15) * 4;
    unsigned field = test_get16(seg->data + 6);
    CU_ASSERT_EQUAL(test_sum(seg->data, ihl, 0), 0xffff);
    CU_ASSERT_EQUAL(test_get16(seg->data + 2), seg->len);
    CU_ASSERT_EQUAL(test_get16(seg->data + 4), 0x1234);
    memcpy(whole + (field & 0x1fff) * 8, seg->data + ihl, seg->len - ihl);
    whole_len += seg->len - ihl;
    more_count += (field & 0x2000) != 0;
    if (i < 8)
        option_bytes[i] = ihl > 20 ? seg->data[20] : 0;
}

static void test_fragmenting(void)
{
    struct test_packet t = {
        .family = 4, .proto = 17, .payload = 4000, .id = 0x1234, .partial = true};
    struct vnet_hdr vh = {.flags = VNET_F_NEEDS_CSUM, .csum_start = 20, .csum_offset = 6};
    whole_len = more_count = 0;
    struct result r = split(test_build(PKT, &t), &vh, 1400, judge_fragment);
    CU_ASSERT_EQUAL(r.n, 3);
    CU_ASSERT_EQUAL(more_count, 2);
    CU_ASSERT_EQUAL(whole_len, 4008);
    t.partial = false;
    test_build(PKT, &t);
    CU_ASSERT_EQUAL(memcmp(whole, PKT + 20, 4008), 0);

    /* the middle of an already fragmented packet */
    t.frag = 0x2000 | 100;
    whole_len = more_count = 0;
    r = split(test_build(PKT, &t), &(struct vnet_hdr){0}, 576, judge_fragment);
    CU_ASSERT_EQUAL(r.n, more_count);
    CU_ASSERT_EQUAL(whole_len, 4008);
    test_build(PKT, &t);
    CU_ASSERT_EQUAL(memcmp(whole + 800, PKT + 20, 4008), 0);
}

/* Record route (7) stays in the first fragment, the router alert (148, copied) stands in all. */
static void test_fragmenting_with_options(void)
{
    for (unsigned option = 7; option <= 148; option += 141) {
        struct test_packet t = {.family = 4, .proto = 17, .payload = 3000, .id = 0x1234};
        size_t len = test_build(PKT, &t);
        memmove(PKT + 24, PKT + 20, len - 20);
        memcpy(PKT + 20, (uint8_t[]){(uint8_t)option, 4, 4, 0}, 4);
        PKT[0] = 0x46;
        len += 4;
        test_put16(PKT + 2, (unsigned)len);
        checksum_ipv4_set(PKT, 24);
        whole_len = more_count = 0;
        struct result r = split(len, &(struct vnet_hdr){0}, 1400, judge_fragment);
        CU_ASSERT_EQUAL(r.n, 3);
        CU_ASSERT_EQUAL(option_bytes[0], option);
        CU_ASSERT_EQUAL(option_bytes[1], option == 7 ? 1 : option);
        CU_ASSERT_EQUAL(option_bytes[2], option_bytes[1]);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"super-packets", test_super_packets},
                           {"bad partial sum stays bad", test_bad_partial_sum_stays_bad},
                           {"single packets", test_single_packets},
                           {"too big", test_too_big},
                           {"inconsistent", test_inconsistent},
                           {"fragmenting", test_fragmenting},
                           {"fragmenting with options", test_fragmenting_with_options},
                           CU_TEST_INFO_NULL};
    return packet_test_run("gso_split", tests);
}
