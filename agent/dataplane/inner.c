#include "agent/dataplane/inner.h"
#include "agent/dataplane/checksum.h"
#include "common/bytes.h"

#define IPV4_HDR_MIN 20
#define IPV6_HDR_LEN 40

/* Extension headers that a router looks past (RFC 8200 section 4); more than this in one packet is
 * abuse. */
#define IPV6_EXTENSIONS_MAX 8
enum {
    EXT_HOP_BY_HOP = 0,
    EXT_ROUTING = 43,
    EXT_FRAGMENT = 44,
    EXT_DESTINATION = 60,
    EXT_MOBILITY = 135
};

static void read_ports(const uint8_t *pkt, struct inner *in)
{
    bool has_ports = in->proto == IP_PROTO_TCP || in->proto == IP_PROTO_UDP;
    if (!has_ports || (in->flags & INNER_LATER) || in->len < in->l4 + 4u)
        return;
    in->sport = load_be16(pkt + in->l4);
    in->dport = load_be16(pkt + in->l4 + 2);
    in->flags |= INNER_PORTS;
}

static bool parse_ipv4(const uint8_t *pkt, size_t len, struct inner *in)
{
    if (len < IPV4_HDR_MIN)
        return false;
    size_t ihl = (size_t)(pkt[0] & 15) * 4;
    uint16_t total = load_be16(pkt + 2);
    if (ihl < IPV4_HDR_MIN || total < ihl || total > len || !checksum_ipv4_ok(pkt, ihl))
        return false;
    uint16_t frag = load_be16(pkt + 6);
    in->family = 4;
    in->tos = pkt[1];
    in->ttl = pkt[8];
    in->proto = pkt[9];
    in->len = total;
    in->l4 = (uint16_t)ihl;
    in->src = pkt + 12;
    in->dst = pkt + 16;
    if (frag & 0x3fff)
        in->flags |= INNER_FRAGMENT;
    if (frag & 0x1fff)
        in->flags |= INNER_LATER;
    if (frag & 0x4000)
        in->flags |= INNER_DF;
    if (ihl > IPV4_HDR_MIN)
        in->flags |= INNER_OPTIONS;
    return true;
}

/* Walks to the upper-layer header. A chain that ends early in a later fragment is no error: the
 * rest of it is in the first one. */
static bool walk_extensions(const uint8_t *pkt, struct inner *in, uint8_t next)
{
    size_t at = IPV6_HDR_LEN;
    for (unsigned n = 0; n <= IPV6_EXTENSIONS_MAX; n++) {
        size_t ext_len;
        switch (next) {
        case EXT_HOP_BY_HOP:
        case EXT_ROUTING:
        case EXT_DESTINATION:
        case EXT_MOBILITY:
            if (at + 8 > in->len)
                return false;
            ext_len = ((size_t)pkt[at + 1] + 1) * 8;
            break;
        case EXT_FRAGMENT:
            if (at + 8 > in->len)
                return false;
            ext_len = 8;
            in->flags |= INNER_FRAGMENT;
            if (load_be16(pkt + at + 2) & 0xfff8)
                in->flags |= INNER_LATER;
            break;
        default:
            in->proto = next;
            in->l4 = (uint16_t)at;
            return true;
        }
        if (at + ext_len > in->len)
            return false;
        in->flags |= INNER_OPTIONS;
        next = pkt[at];
        at += ext_len;
        if (in->flags & INNER_LATER) {
            in->proto = next;
            in->l4 = (uint16_t)at;
            return true;
        }
    }
    return false;
}

static bool parse_ipv6(const uint8_t *pkt, size_t len, struct inner *in)
{
    if (len < IPV6_HDR_LEN)
        return false;
    size_t total = IPV6_HDR_LEN + (size_t)load_be16(pkt + 4);
    if (total > len || total > UINT16_MAX)
        return false;
    in->family = 6;
    in->tos = (uint8_t)(load_be16(pkt) >> 4);
    in->ttl = pkt[7];
    in->len = (uint16_t)total;
    in->src = pkt + 8;
    in->dst = pkt + 24;
    in->flags = INNER_DF;
    return walk_extensions(pkt, in, pkt[6]);
}

bool inner_parse(const uint8_t *pkt, size_t len, struct inner *out)
{
    struct inner in = {0};
    if (len == 0)
        return false;
    unsigned version = pkt[0] >> 4;
    bool ok = version == 4   ? parse_ipv4(pkt, len, &in)
              : version == 6 ? parse_ipv6(pkt, len, &in)
                             : false;
    if (!ok)
        return false;
    read_ports(pkt, &in);
    *out = in;
    return true;
}

bool inner_link_scope(const struct inner *in)
{
    if (in->family == 4)
        return in->dst[0] == 224 && in->dst[1] == 0 && in->dst[2] == 0;
    uint8_t scope = in->dst[1] & 0x0f;
    return in->dst[0] == 0xff && (scope == 1 || scope == 2);
}

bool inner_ttl_decrement(uint8_t *pkt, struct inner *in)
{
    if (in->ttl <= 1)
        return false;
    in->ttl--;
    if (in->family == 6) {
        pkt[7] = in->ttl;
        return true;
    }
    uint16_t before = checksum_load(pkt + 8);
    pkt[8] = in->ttl;
    checksum_replace16(pkt + 10, before, checksum_load(pkt + 8));
    return true;
}

static void set_tos(uint8_t *pkt, struct inner *in, uint8_t tos)
{
    if (in->family == 6) {
        pkt[0] = (uint8_t)((pkt[0] & 0xf0) | (tos >> 4));
        pkt[1] = (uint8_t)((pkt[1] & 0x0f) | (tos << 4));
    } else {
        uint16_t before = checksum_load(pkt);
        pkt[1] = tos;
        checksum_replace16(pkt + 10, before, checksum_load(pkt));
    }
    in->tos = tos;
}

bool inner_ecn_decapsulate(uint8_t *pkt, struct inner *in, uint8_t outer_tos)
{
    enum { NOT_ECT = 0, ECT1 = 1, ECT0 = 2, CE = 3, DROP = 4 };
    /* RFC 6040 figure 4: [inner][outer], both in code point order. */
    static const uint8_t result[4][4] = {
        [NOT_ECT] = {NOT_ECT, NOT_ECT, NOT_ECT, DROP},
        [ECT1] = {ECT1, ECT1, ECT1, CE},
        [ECT0] = {ECT0, ECT1, ECT0, CE},
        [CE] = {CE, CE, CE, CE},
    };
    uint8_t ecn = in->tos & 3;
    uint8_t want = result[ecn][outer_tos & 3];
    if (want == DROP)
        return false;
    if (want != ecn)
        set_tos(pkt, in, (uint8_t)((in->tos & ~3) | want));
    return true;
}
