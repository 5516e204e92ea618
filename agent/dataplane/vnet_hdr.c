#include "agent/dataplane/vnet_hdr.h"
#include <string.h>

/* Host order: the fields are copied, never swapped. */
static uint16_t load16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static void store16(uint8_t *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}

static bool gso_valid(const struct vnet_hdr *h)
{
    switch (h->gso_type) {
    case VNET_GSO_NONE:
        return true;
    case VNET_GSO_TCPV4:
    case VNET_GSO_TCPV6:
    case VNET_GSO_UDP_L4:
        return h->gso_size > 0 && (h->flags & VNET_F_NEEDS_CSUM);
    default:
        return false;
    }
}

bool vnet_hdr_parse(const uint8_t *p, size_t len, size_t packet_len, struct vnet_hdr *out)
{
    if (len < VNET_HDR_LEN)
        return false;
    struct vnet_hdr h = {
        .flags = p[0],
        .gso_type = (uint8_t)(p[1] & ~VNET_GSO_ECN),
        .ecn = (p[1] & VNET_GSO_ECN) != 0,
        .hdr_len = load16(p + 2),
        .gso_size = load16(p + 4),
        .csum_start = load16(p + 6),
        .csum_offset = load16(p + 8),
    };
    if (!gso_valid(&h))
        return false;
    if ((h.flags & VNET_F_NEEDS_CSUM) && (size_t)h.csum_start + h.csum_offset + 2 > packet_len)
        return false;
    *out = h;
    return true;
}

void vnet_hdr_build(uint8_t *p, const struct vnet_hdr *h)
{
    p[0] = h->flags;
    p[1] = (uint8_t)(h->gso_type | (h->ecn ? VNET_GSO_ECN : 0));
    store16(p + 2, h->hdr_len);
    store16(p + 4, h->gso_size);
    store16(p + 6, h->csum_start);
    store16(p + 8, h->csum_offset);
}

void vnet_hdr_build_plain(uint8_t *p)
{
    memset(p, 0, VNET_HDR_LEN);
}
