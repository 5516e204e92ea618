#include "agent/dataplane/flow_hash.h"
#include "common/bytes.h"

/* Full-width multiply folded in half: every input bit reaches every output bit. */
static uint64_t fold_mul(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide m = (wide)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static const uint64_t odd1 = 0x9e3779b97f4a7c15ull, odd2 = 0xd6e8feb86659fd93ull,
                      odd3 = 0xa0761d6478bd642full;

/* One side of a flow: address and port. Big-endian loads, so that every machine gets the same
 * value. */
static uint64_t hash_end(const uint8_t *addr, size_t addr_len, uint16_t port, uint64_t seed)
{
    uint64_t hi = addr_len == 16 ? load_be64(addr) : 0;
    uint64_t lo = addr_len == 16 ? load_be64(addr + 8) : load_be32(addr);
    return fold_mul(hi ^ seed ^ odd1, lo + ((uint64_t)port << 48 | port) + odd2);
}

struct tuple {
    const uint8_t *src, *dst;
    size_t addr_len;
    uint16_t sport, dport;
    uint8_t proto;
};

/* Sum and product of both ends' hashes don't know which end is which. */
static uint64_t hash_tuple(const struct tuple *t, uint64_t seed)
{
    uint64_t a = hash_end(t->src, t->addr_len, t->sport, seed);
    uint64_t b = hash_end(t->dst, t->addr_len, t->dport, seed);
    return fold_mul((a + b) ^ odd3, fold_mul(a ^ odd1, b ^ odd1) + seed + t->proto);
}

/* ICMP error types: they quote the packet they are about (RFC 792; RFC 4443 section 2.1: types
 * below 128). */
static bool is_icmp_error(const struct inner *in, uint8_t type)
{
    if (in->family == 4)
        return in->proto == IP_PROTO_ICMP &&
               (type == 3 || type == 4 || type == 5 || type == 11 || type == 12);
    return in->proto == IP_PROTO_ICMPV6 && type < 128;
}

static bool has_ports(uint8_t proto)
{
    return proto == IP_PROTO_TCP || proto == IP_PROTO_UDP;
}

/* The quoted packet is cut off (28 bytes are enough by RFC 792), so nothing but its first header
 * and ports is looked at. */
static bool quoted_tuple(const uint8_t *q, size_t len, struct tuple *t)
{
    size_t l4;
    bool fragment;
    if (len >= 20 && q[0] >> 4 == 4) {
        l4 = (size_t)(q[0] & 15) * 4;
        fragment = load_be16(q + 6) & 0x3fff;
        *t = (struct tuple){.src = q + 12, .dst = q + 16, .addr_len = 4, .proto = q[9]};
    } else if (len >= 40 && q[0] >> 4 == 6) {
        l4 = 40;
        fragment = false;
        *t = (struct tuple){.src = q + 8, .dst = q + 24, .addr_len = 16, .proto = q[6]};
    } else {
        return false;
    }
    if (!fragment && has_ports(t->proto) && l4 >= 20 && len >= l4 + 4) {
        t->sport = load_be16(q + l4);
        t->dport = load_be16(q + l4 + 2);
    }
    return true;
}

uint64_t flow_hash(const uint8_t *pkt, const struct inner *in, uint64_t flow_seed)
{
    struct tuple t = {
        .src = in->src, .dst = in->dst, .addr_len = inner_addr_len(in), .proto = in->proto};
    if (in->flags & INNER_FRAGMENT) {
        /* Headers behind IPv6's fragment header are in the first fragment only. */
        t.proto = in->family == 6 ? IP_PROTO_FRAGMENT : in->proto;
        return hash_tuple(&t, flow_seed);
    }
    if (in->flags & INNER_PORTS) {
        t.sport = in->sport;
        t.dport = in->dport;
    } else if (in->len >= in->l4 + 8u && is_icmp_error(in, pkt[in->l4])) {
        struct tuple q;
        if (quoted_tuple(pkt + in->l4 + 8, in->len - in->l4 - 8u, &q))
            t = q;
    }
    return hash_tuple(&t, flow_seed);
}

uint64_t flow_hash_again(uint64_t hash, uint64_t tunnel_seed)
{
    return fold_mul(hash ^ tunnel_seed ^ odd2, odd1 ^ fold_mul(hash + odd3, tunnel_seed | 1));
}
