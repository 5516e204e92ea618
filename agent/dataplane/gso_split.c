#include "agent/dataplane/gso_split.h"
#include "agent/dataplane/checksum.h"
#include "common/bytes.h"
#include <string.h>

enum { MODE_SINGLE, MODE_TCP, MODE_UDP, MODE_FRAGMENT };

#define TCP_HDR_MIN    20u
#define UDP_HDR_LEN    8u
#define IPV4_HDR_MIN   20u
#define IPV6_HDR_LEN   40u
#define TCP_CSUM_AT    16u
#define UDP_CSUM_AT    6u
#define TCP_FIN        0x01u
#define TCP_PSH        0x08u
#define TCP_CWR        0x80u
#define IP_MORE        0x2000u
#define IP_OFFSET_MASK 0x1fffu
#define FRAGMENT_UNIT  8u

static bool is_udp_checksum(const struct inner *in, const struct vnet_hdr *vh)
{
    return in->proto == IP_PROTO_UDP && vh->csum_start == in->l4 && vh->csum_offset == UDP_CSUM_AT;
}

/* Options whose copy bit is clear stand in the first fragment only (RFC 791 section 3.2);
 * no-operations take their place in the others, so that all headers have one length. */
static void drop_uncopied_options(uint8_t *hdr, size_t ihl)
{
    for (size_t at = IPV4_HDR_MIN; at < ihl && hdr[at] != 0;) {
        if (hdr[at] == 1) {
            at++;
            continue;
        }
        size_t n = at + 1 < ihl ? hdr[at + 1] : 0;
        if (n < 2 || n > ihl - at)
            return;
        if (!(hdr[at] & 0x80))
            memset(hdr + at, 1, n);
        at += n;
    }
}

static enum gso_result begin_fragments(struct gso_split *s, const struct inner *in, uint32_t mtu)
{
    if (mtu < in->l4 + FRAGMENT_UNIT)
        return GSO_TOO_BIG;
    s->mode = MODE_FRAGMENT;
    s->hdr_len = in->l4;
    s->payload = in->l4;
    s->step = (mtu - in->l4) & ~(FRAGMENT_UNIT - 1);
    s->frag = load_be16(s->pkt + 6);
    memcpy(s->hdr, s->pkt, s->hdr_len);
    return GSO_OK;
}

static enum gso_result begin_single(struct gso_split *s, const struct inner *in,
                                    const struct vnet_hdr *vh, uint32_t mtu)
{
    if (in->len > mtu && (in->flags & INNER_DF))
        return GSO_TOO_BIG;
    if ((vh->flags & VNET_F_NEEDS_CSUM) &&
        !checksum_complete(s->pkt, in->len, vh->csum_start, vh->csum_offset,
                           is_udp_checksum(in, vh)))
        return GSO_BAD;
    if (in->len > mtu)
        return begin_fragments(s, in, mtu);
    s->mode = MODE_SINGLE;
    return GSO_OK;
}

/* Length of the upper-layer header of a super-packet, 0 when it is not what the virtio header says.
 */
static size_t super_l4_hdr(const struct gso_split *s, const struct inner *in,
                           const struct vnet_hdr *vh)
{
    size_t l4_len = (size_t)in->len - in->l4;
    if (vh->gso_type == VNET_GSO_UDP_L4) {
        bool ok =
            in->proto == IP_PROTO_UDP && vh->csum_offset == UDP_CSUM_AT && l4_len >= UDP_HDR_LEN;
        return ok ? UDP_HDR_LEN : 0;
    }
    bool family_ok = in->family == (vh->gso_type == VNET_GSO_TCPV4 ? 4 : 6);
    if (!family_ok || in->proto != IP_PROTO_TCP || vh->csum_offset != TCP_CSUM_AT ||
        l4_len < TCP_HDR_MIN)
        return 0;
    size_t hdr = (size_t)(s->pkt[in->l4 + 12] >> 4) * 4;
    return hdr >= TCP_HDR_MIN && hdr <= l4_len ? hdr : 0;
}

/*
 * Checksums are put together from parts: what all segments share is summed once, here, over the
 * template header with its changing fields at zero; a segment adds its own fields and its payload.
 * Reading back the header just written would cost more than the sum itself (wide loads over narrow
 * stores wait for them).
 *
 * The super-packet's checksum field holds the pseudo header's sum over its whole length, and
 * whatever was wrong about it; taking that length out leaves what each segment starts from.
 */
static void prepare_template(struct gso_split *s, size_t csum_offset, uint16_t l4_len)
{
    uint8_t *l4 = s->hdr + s->l4;
    s->l4_sum = (uint64_t)checksum_load(l4 + csum_offset) + (uint16_t)~__builtin_bswap16(l4_len);
    checksum_store(l4 + csum_offset, 0);
    if (s->mode == MODE_TCP) {
        s->tcp_seq = load_be32(l4 + 4);
        s->tcp_flags = l4[13];
        store_be32(l4 + 4, 0);
        l4[13] = 0;
    } else {
        store_be16(l4 + 4, 0);
    }
    s->l4_sum = checksum_add(l4, (size_t)s->hdr_len - s->l4, s->l4_sum);
    if (s->family == 6)
        return;
    s->ip_id = load_be16(s->hdr + 4);
    memset(s->hdr + 2, 0, 4);
    checksum_store(s->hdr + 10, 0);
    s->ip_sum = checksum_add(s->hdr, s->l4, 0);
}

static enum gso_result begin_super(struct gso_split *s, const struct inner *in,
                                   const struct vnet_hdr *vh, uint32_t mtu)
{
    size_t l4_hdr = super_l4_hdr(s, in, vh);
    size_t hdr_len = in->l4 + l4_hdr;
    if (l4_hdr == 0 || vh->csum_start != in->l4 || (in->flags & INNER_FRAGMENT) ||
        hdr_len > GSO_HEADER_MAX || hdr_len >= in->len)
        return GSO_BAD;
    uint32_t payload_len = (uint32_t)(in->len - hdr_len);
    uint32_t step = vh->gso_size < payload_len ? vh->gso_size : payload_len;
    if (hdr_len + step > mtu)
        return GSO_TOO_BIG;
    s->mode = vh->gso_type == VNET_GSO_UDP_L4 ? MODE_UDP : MODE_TCP;
    s->hdr_len = (uint16_t)hdr_len;
    s->payload = (uint32_t)hdr_len;
    s->step = step;
    memcpy(s->hdr, s->pkt, hdr_len);
    prepare_template(s, vh->csum_offset, (uint16_t)(in->len - in->l4));
    return GSO_OK;
}

enum gso_result gso_split_begin(struct gso_split *s, uint8_t *pkt, const struct inner *in,
                                const struct vnet_hdr *vh, uint32_t mtu)
{
    s->pkt = pkt;
    s->end = in->len;
    s->payload = 0;
    s->step = 0;
    s->index = 0;
    s->l4 = in->l4;
    s->family = in->family;
    return vh->gso_type == VNET_GSO_NONE ? begin_single(s, in, vh, mtu)
                                         : begin_super(s, in, vh, mtu);
}

/* IP lengths and, for IPv4, the identification, which counts up as the kernel's own segmentation
 * does. */
static void fix_ip(const struct gso_split *s, uint8_t *seg, size_t seg_len)
{
    if (s->family == 6) {
        store_be16(seg + 4, (uint16_t)(seg_len - IPV6_HDR_LEN));
        return;
    }
    uint16_t len = __builtin_bswap16((uint16_t)seg_len);
    uint16_t id = __builtin_bswap16((uint16_t)(s->ip_id + s->index));
    checksum_store(seg + 2, len);
    checksum_store(seg + 4, id);
    checksum_store(seg + 10, (uint16_t)~checksum_fold(s->ip_sum + len + id));
}

/* `sum`: of what this segment's header has of its own. */
static uint16_t finish_sum(const struct gso_split *s, const uint8_t *l4, size_t l4_len,
                           uint64_t sum)
{
    size_t l4_hdr = (size_t)s->hdr_len - s->l4;
    return (uint16_t)~checksum_fold(checksum_add(l4 + l4_hdr, l4_len - l4_hdr, s->l4_sum + sum));
}

static void fix_tcp(const struct gso_split *s, uint8_t *tcp, size_t l4_len, bool last)
{
    uint8_t flags = s->tcp_flags;
    if (s->index > 0)
        flags &= (uint8_t)~TCP_CWR;
    if (!last)
        flags &= (uint8_t) ~(TCP_FIN | TCP_PSH);
    uint32_t seq = __builtin_bswap32(s->tcp_seq + s->index * s->step);
    uint64_t own = (uint64_t)seq + ((uint32_t)flags << 8) + __builtin_bswap16((uint16_t)l4_len);
    memcpy(tcp + 4, &seq, sizeof seq);
    tcp[13] = flags;
    checksum_store(tcp + TCP_CSUM_AT, finish_sum(s, tcp, l4_len, own));
}

/* The length stands in the header and in the pseudo header. A sum of zero is sent as all ones (RFC
 * 768). */
static void fix_udp(const struct gso_split *s, uint8_t *udp, size_t l4_len)
{
    uint16_t len = __builtin_bswap16((uint16_t)l4_len);
    uint16_t sum = finish_sum(s, udp, l4_len, 2ull * len);
    checksum_store(udp + 4, len);
    checksum_store(udp + UDP_CSUM_AT, sum ? sum : 0xffff);
}

/* A fragment of a fragment keeps the place of its parent, and its "more fragments" (RFC 791
 * section 3.2). */
static void fix_fragment(struct gso_split *s, uint8_t *seg, size_t seg_len, bool last)
{
    uint32_t offset = (s->frag & IP_OFFSET_MASK) + (s->payload - s->hdr_len) / FRAGMENT_UNIT;
    uint16_t more = last ? s->frag & IP_MORE : IP_MORE;
    store_be16(seg + 2, (uint16_t)seg_len);
    store_be16(seg + 6, (uint16_t)(offset | more));
    checksum_ipv4_set(seg, s->hdr_len);
    if (s->index == 0)
        drop_uncopied_options(s->hdr, s->hdr_len);
}

bool gso_split_next(struct gso_split *s, struct gso_segment *out)
{
    if (s->mode == MODE_SINGLE) {
        *out = (struct gso_segment){.data = s->pkt, .len = s->end};
        return s->index++ == 0;
    }
    if (s->payload >= s->end)
        return false;
    uint32_t left = s->end - s->payload;
    bool last = left <= s->step;
    uint8_t *seg = s->pkt + s->payload - s->hdr_len;
    size_t seg_len = s->hdr_len + (last ? left : s->step);
    memcpy(seg, s->hdr, s->hdr_len);
    if (s->mode == MODE_FRAGMENT) {
        fix_fragment(s, seg, seg_len, last);
    } else {
        fix_ip(s, seg, seg_len);
        if (s->mode == MODE_TCP)
            fix_tcp(s, seg + s->l4, seg_len - s->l4, last);
        else
            fix_udp(s, seg + s->l4, seg_len - s->l4);
    }
    s->index++;
    s->payload += s->step;
    *out = (struct gso_segment){.data = seg, .len = seg_len};
    return true;
}
