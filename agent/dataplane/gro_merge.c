#include "agent/dataplane/gro_merge.h"
#include "agent/dataplane/checksum.h"
#include "agent/dataplane/vnet_hdr.h"
#include "common/bytes.h"
#include <stdlib.h>
#include <string.h>

#define TCP_HDR_MIN 20u
#define UDP_HDR_LEN 8u
#define TCP_CSUM_AT 16u
#define UDP_CSUM_AT 6u

enum {
    TCP_FIN = 0x01,
    TCP_SYN = 0x02,
    TCP_RST = 0x04,
    TCP_PSH = 0x08,
    TCP_ACK = 0x10,
    TCP_URG = 0x20,
    TCP_CWR = 0x80
};

/* What may be merged about one packet. */
struct candidate {
    uint8_t *pkt;
    const struct inner *in;
    uint16_t hdr_len;     /* IP and upper-layer header */
    uint16_t payload_len; /* > 0 */
    uint8_t tcp_flags;
    bool ends; /* nothing may follow it in a merged packet */
};

struct gro_flow {
    uint8_t *head; /* the first packet, whose headers the merged one gets */
    struct inner in;
    uint16_t hdr_len;
    uint16_t gso_size;  /* payload of the first */
    uint32_t next_seq;  /* TCP: where the next one must start */
    uint32_t total;     /* IP packet's length so far */
    uint16_t n;         /* packets = pieces */
    uint8_t last_flags; /* FIN and PSH of the pieces, together */
    bool verified;      /* the first one's checksum was found right */
    struct iovec iov[GRO_SEGMENTS_MAX];
};

struct gro_merge {
    bool uso;
    gro_emit_fn *emit;
    void *ctx;
    unsigned n;                       /* flows held */
    struct gro_flow *held[GRO_FLOWS]; /* the first n: oldest first; behind them the free ones */
    struct gro_flow flows[GRO_FLOWS];
};

struct gro_merge *gro_merge_new(bool uso, gro_emit_fn *emit, void *ctx)
{
    struct gro_merge *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->uso = uso;
    g->emit = emit;
    g->ctx = ctx;
    for (unsigned i = 0; i < GRO_FLOWS; i++)
        g->held[i] = &g->flows[i];
    return g;
}

void gro_merge_free(struct gro_merge *g)
{
    free(g);
}

static void emit_single(struct gro_merge *g, uint8_t *pkt, size_t len)
{
    vnet_hdr_build_plain(pkt - VNET_HDR_LEN);
    struct iovec iov = {.iov_base = pkt - VNET_HDR_LEN, .iov_len = VNET_HDR_LEN + len};
    g->emit(g->ctx, &iov, 1, iov.iov_len, 1);
}

static void set_ip_length(struct gro_flow *f)
{
    if (f->in.family == 6) {
        store_be16(f->head + 4, (uint16_t)(f->total - 40));
        return;
    }
    store_be16(f->head + 2, (uint16_t)f->total);
    checksum_ipv4_set(f->head, f->in.l4);
}

/* The first packet's headers become those of the whole; the kernel (or the NIC) cuts it again by
 * the virtio header and completes the checksums from the pseudo header's sum. */
static void emit_merged(struct gro_merge *g, struct gro_flow *f)
{
    uint8_t *l4 = f->head + f->in.l4;
    uint32_t l4_len = f->total - f->in.l4;
    bool tcp = f->in.proto == IP_PROTO_TCP;
    struct vnet_hdr vh = {.flags = VNET_F_NEEDS_CSUM,
                          .hdr_len = f->hdr_len,
                          .gso_size = f->gso_size,
                          .csum_start = f->in.l4,
                          .csum_offset = tcp ? TCP_CSUM_AT : UDP_CSUM_AT};
    if (tcp) {
        vh.gso_type = f->in.family == 4 ? VNET_GSO_TCPV4 : VNET_GSO_TCPV6;
        vh.ecn = (l4[13] & TCP_CWR) != 0;
        l4[13] |= f->last_flags;
    } else {
        vh.gso_type = VNET_GSO_UDP_L4;
        store_be16(l4 + 4, (uint16_t)l4_len);
    }
    set_ip_length(f);
    checksum_store(l4 + vh.csum_offset,
                   checksum_fold(checksum_pseudo(&f->in, f->in.proto, l4_len)));
    vnet_hdr_build(f->head - VNET_HDR_LEN, &vh);
    g->emit(g->ctx, f->iov, f->n, VNET_HDR_LEN + f->total, f->n);
}

/* Emits the flow at position i and makes it free; the order of the others stays. */
static void release(struct gro_merge *g, unsigned i)
{
    struct gro_flow *f = g->held[i];
    if (f->n == 1)
        emit_single(g, f->head, f->total);
    else
        emit_merged(g, f);
    g->n--;
    memmove(&g->held[i], &g->held[i + 1], (g->n - i) * sizeof g->held[0]);
    g->held[g->n] = f;
}

void gro_merge_flush(struct gro_merge *g)
{
    while (g->n > 0)
        release(g, 0);
}

static bool classify_tcp(uint8_t *pkt, const struct inner *in, struct candidate *c)
{
    size_t l4_len = (size_t)in->len - in->l4;
    if (l4_len < TCP_HDR_MIN)
        return false;
    const uint8_t *tcp = pkt + in->l4;
    size_t hdr = (size_t)(tcp[12] >> 4) * 4;
    uint8_t flags = tcp[13];
    if (hdr < TCP_HDR_MIN || hdr >= l4_len)
        return false;
    if (!(flags & TCP_ACK) || (flags & (TCP_SYN | TCP_RST | TCP_URG)))
        return false;
    c->hdr_len = (uint16_t)(in->l4 + hdr);
    c->payload_len = (uint16_t)(l4_len - hdr);
    c->tcp_flags = flags;
    c->ends = (flags & (TCP_FIN | TCP_PSH)) != 0;
    return true;
}

static bool classify_udp(const uint8_t *pkt, const struct inner *in, struct candidate *c)
{
    size_t l4_len = (size_t)in->len - in->l4;
    if (l4_len <= UDP_HDR_LEN || load_be16(pkt + in->l4 + 4) != l4_len)
        return false;
    c->hdr_len = (uint16_t)(in->l4 + UDP_HDR_LEN);
    c->payload_len = (uint16_t)(l4_len - UDP_HDR_LEN);
    return true;
}

static bool classify(const struct gro_merge *g, uint8_t *pkt, const struct inner *in,
                     struct candidate *c)
{
    *c = (struct candidate){.pkt = pkt, .in = in};
    if (!(in->flags & INNER_PORTS) || (in->flags & (INNER_FRAGMENT | INNER_OPTIONS)) ||
        in->len > GRO_PACKET_MAX)
        return false;
    if (in->proto == IP_PROTO_TCP)
        return classify_tcp(pkt, in, c);
    return g->uso && classify_udp(pkt, in, c);
}

static bool same_addresses(const struct gro_flow *f, const struct inner *in)
{
    size_t n = inner_addr_len(in);
    return f->in.family == in->family && f->in.proto == in->proto &&
           memcmp(f->in.src, in->src, n) == 0 && memcmp(f->in.dst, in->dst, n) == 0;
}

static bool same_flow(const struct gro_flow *f, const struct inner *in)
{
    return f->in.sport == in->sport && f->in.dport == in->dport && same_addresses(f, in);
}

/* IPv4 identifications must count up, since that is what cutting the merged packet gives again;
 * with DF they mean nothing (RFC 6864 section 4.1) and a sender that repeats one value is as good.
 */
static bool same_ip(const struct gro_flow *f, const struct candidate *c)
{
    const uint8_t *a = f->head, *b = c->pkt;
    if (f->in.family == 6)
        return memcmp(a, b, 4) == 0 && a[7] == b[7];
    uint16_t first_id = load_be16(a + 4), id = load_be16(b + 4);
    bool id_ok = id == (uint16_t)(first_id + f->n) || (id == first_id && (c->in->flags & INNER_DF));
    return a[1] == b[1] && a[8] == b[8] && memcmp(a + 6, b + 6, 2) == 0 && id_ok;
}

/* Acknowledgement, window, options and flags must be equal; FIN and PSH gather, CWR belongs to the
 * first segment alone. */
static bool same_tcp(const struct gro_flow *f, const struct candidate *c)
{
    const uint8_t *a = f->head + f->in.l4, *b = c->pkt + c->in->l4;
    const uint8_t free_flags = TCP_FIN | TCP_PSH | TCP_CWR;
    if (load_be32(b + 4) != f->next_seq || (b[13] & TCP_CWR) || ((a[13] ^ b[13]) & ~free_flags))
        return false;
    return memcmp(a + 8, b + 8, 5) == 0 && memcmp(a + 14, b + 14, 2) == 0 &&
           memcmp(a + 18, b + 18, (size_t)f->hdr_len - f->in.l4 - 18) == 0;
}

static bool fits(const struct gro_flow *f, const struct candidate *c)
{
    if (c->hdr_len != f->hdr_len || c->payload_len > f->gso_size || f->n >= GRO_SEGMENTS_MAX ||
        f->total + c->payload_len > GRO_PACKET_MAX)
        return false;
    return same_ip(f, c) && (c->in->proto == IP_PROTO_UDP || same_tcp(f, c));
}

static void append(struct gro_flow *f, const struct candidate *c)
{
    f->iov[f->n++] = (struct iovec){.iov_base = c->pkt + c->hdr_len, .iov_len = c->payload_len};
    f->total += c->payload_len;
    f->next_seq += c->payload_len;
    f->last_flags |= c->tcp_flags & (TCP_FIN | TCP_PSH);
}

/* Holds the packet as the first of a possible merge, unless nothing can follow it. */
static void start(struct gro_merge *g, const struct candidate *c)
{
    if (c->ends) {
        emit_single(g, c->pkt, c->in->len);
        return;
    }
    if (g->n == GRO_FLOWS)
        release(g, 0);
    struct gro_flow *f = g->held[g->n++];
    f->head = c->pkt;
    f->in = *c->in;
    f->hdr_len = c->hdr_len;
    f->gso_size = c->payload_len;
    f->next_seq =
        c->in->proto == IP_PROTO_TCP ? load_be32(c->pkt + c->in->l4 + 4) + c->payload_len : 0;
    f->total = c->in->len;
    f->n = 1;
    f->last_flags = 0;
    f->verified = false;
    f->iov[0] =
        (struct iovec){.iov_base = c->pkt - VNET_HDR_LEN, .iov_len = VNET_HDR_LEN + c->in->len};
}

/* What can't be merged must not overtake what is held of its flow. A fragment doesn't know its
 * ports. */
static void release_flow_of(struct gro_merge *g, const struct inner *in)
{
    for (unsigned i = 0; i < g->n;) {
        const struct gro_flow *f = g->held[i];
        bool mine = (in->flags & INNER_FRAGMENT) ? same_addresses(f, in) : same_flow(f, in);
        if (mine)
            release(g, i);
        else
            i++;
    }
}

static unsigned find(const struct gro_merge *g, const struct inner *in)
{
    unsigned i = 0;
    while (i < g->n && !same_flow(g->held[i], in))
        i++;
    return i;
}

/* Checksums are looked at only when two packets would become one: a wrong one must leave as it
 * came. */
static bool both_verified(struct gro_flow *f, const struct candidate *c)
{
    if (!f->verified)
        f->verified = checksum_l4_ok(f->head, &f->in);
    return f->verified && checksum_l4_ok(c->pkt, c->in);
}

void gro_merge_add(struct gro_merge *g, uint8_t *pkt, const struct inner *in)
{
    struct candidate c;
    if (!classify(g, pkt, in, &c)) {
        release_flow_of(g, in);
        emit_single(g, pkt, in->len);
        return;
    }
    unsigned i = find(g, in);
    if (i == g->n) {
        start(g, &c);
        return;
    }
    struct gro_flow *f = g->held[i];
    if (!fits(f, &c) || !both_verified(f, &c)) {
        release(g, i);
        start(g, &c);
        return;
    }
    append(f, &c);
    if (c.ends || c.payload_len < f->gso_size)
        release(g, i);
}
