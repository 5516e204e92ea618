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

/* The super-packet's checksum field holds the pseudo header's sum over its whole length (and
 * whatever was wrong about it). Taking that length out leaves what each segment starts from. */
static uint64_t segment_base_sum(const uint8_t *csum_field, uint16_t l4_len)
{
    return (uint64_t)checksum_load(csum_field) + (uint16_t)~__builtin_bswap16(l4_len);
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
    s->sum = segment_base_sum(s->pkt + in->l4 + vh->csum_offset, (uint16_t)(in->len - in->l4));
    if (s->family == 4)
        s->ip_id = load_be16(s->pkt + 4);
    if (s->mode == MODE_TCP) {
        s->tcp_seq = load_be32(s->pkt + in->l4 + 4);
        s->tcp_flags = s->pkt[in->l4 + 13];
    }
    memcpy(s->hdr, s->pkt, hdr_len);
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
    store_be16(seg + 2, (uint16_t)seg_len);
    store_be16(seg + 4, (uint16_t)(s->ip_id + s->index));
    checksum_ipv4_set(seg, (size_t)(seg[0] & 15) * 4);
}

static void finish_checksum(const struct gso_split *s, uint8_t *l4, size_t l4_len, size_t at)
{
    uint64_t partial = s->sum + __builtin_bswap16((uint16_t)l4_len);
    checksum_store(l4 + at, checksum_fold(partial));
    (void)checksum_complete(l4, l4_len, 0, at, s->mode == MODE_UDP);
}

static void fix_tcp(const struct gso_split *s, uint8_t *tcp, size_t l4_len, bool last)
{
    uint8_t flags = s->tcp_flags;
    if (s->index > 0)
        flags &= (uint8_t)~TCP_CWR;
    if (!last)
        flags &= (uint8_t) ~(TCP_FIN | TCP_PSH);
    tcp[13] = flags;
    store_be32(tcp + 4, s->tcp_seq + s->index * s->step);
    finish_checksum(s, tcp, l4_len, TCP_CSUM_AT);
}

static void fix_udp(const struct gso_split *s, uint8_t *udp, size_t l4_len)
{
    store_be16(udp + 4, (uint16_t)l4_len);
    finish_checksum(s, udp, l4_len, UDP_CSUM_AT);
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
