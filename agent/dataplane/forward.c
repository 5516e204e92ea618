#include "agent/dataplane/forward.h"

#include "agent/dataplane/burst.h"
#include "agent/dataplane/esp_out.h"
#include "agent/dataplane/flow_hash.h"
#include "agent/dataplane/gso_split.h"
#include "agent/dataplane/icmp_reply.h"
#include "agent/dataplane/mss.h"
#include "agent/dataplane/tun_io.h"
#include "common/clock.h"
#include <string.h>

/* Choices of a flow's tunnel tried before any live one is taken. */
#define TUNNEL_TRIES 8

/* RFC 8200 section 5: an inner IPv6 packet up to this size must pass. */
#define IPV6_MIN_MTU 1280u

#define ICMP_PER_SECOND 1000u

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return b != 0 && b < a ? b : a;
}

/*
 * The flow's own sequence of choices, the first live one wins: when a tunnel dies only its flows
 * move, when it returns only these come back.
 */
static struct tunnel *choose_tunnel(const struct link *l, uint64_t hash, uint64_t tunnel_seed)
{
    if (l->n_live == 0)
        return NULL;
    uint64_t h = hash;
    for (unsigned i = 0; i < TUNNEL_TRIES; i++) {
        h = flow_hash_again(h, tunnel_seed + i);
        struct tunnel *t = l->owned[flow_hash_pick(h, l->n_owned)];
        if (tunnel_usable(t))
            return t;
    }
    unsigned first = flow_hash_pick(h, l->n_owned);
    for (unsigned i = 0; i < l->n_owned; i++) {
        struct tunnel *t = l->owned[(first + i) % l->n_owned];
        if (tunnel_usable(t))
            return t;
    }
    return NULL;
}

/* Members that have a live tunnel on some worker and don't lead back to the gateway that the packet
 * came from. */
static uint64_t live_members(const struct worker *w, const struct fib_set *s,
                             const struct link *from, bool *loop)
{
    uint64_t live = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->slot[i] == FIB_NO_SLOT || live_map_get(w->shared->live, (unsigned)s->slot[i]) == 0)
            continue;
        const struct link *l = w->links[s->slot[i]];
        if (l == NULL)
            continue;
        if (from != NULL && id_equal(&l->set.peer, &from->set.peer))
            *loop = true;
        else
            live |= 1ull << i;
    }
    return live;
}

/* The n-th set bit of m, n below their number. */
static unsigned nth_bit(uint64_t m, unsigned n)
{
    while (n-- > 0)
        m &= m - 1;
    return (unsigned)__builtin_ctzll(m);
}

static bool give(struct worker *w, unsigned to, const struct handoff_item *item, uint32_t packets)
{
    if (!handoff_give(w->shared->handoff, w->index, to, item))
        return false;
    stats_add(&w->st->handoff_out, packets);
    w->given |= 1ull << to;
    return true;
}

static bool give_packed(struct worker *w, unsigned to)
{
    struct handoff_item item = {.buf = w->packed[to], .packed = true};
    if (!give(w, to, &item, w->n_packed[to]))
        return false;
    w->packed[to] = NULL;
    w->packing &= ~(1ull << to);
    return true;
}

/* What finds the ring full stays for the next turn, which then comes soon; meanwhile more is packed
 * beside it. */
void forward_hand_over(struct worker *w)
{
    for (uint64_t m = w->packing; m != 0; m &= m - 1) {
        if (!give_packed(w, (unsigned)__builtin_ctzll(m)))
            w->next_tick_ns = w->now_ns;
    }
}

void forward_drop_packed(struct worker *w)
{
    for (; w->packing != 0; w->packing &= w->packing - 1) {
        unsigned to = (unsigned)__builtin_ctzll(w->packing);
        stats_drop(w->st, DROP_NO_TUNNEL, w->n_packed[to]);
        pktbuf_put(w->packed[to]);
        w->packed[to] = NULL;
    }
}

/* A packet out of a tunnel lies among others in its buffer: it is copied to those that go the same
 * way. */
static void pack(struct worker *w, unsigned to, const struct handoff_note *note,
                 const uint8_t *data)
{
    if (w->packed[to] != NULL && handoff_pack(w->packed[to], note, data)) {
        w->n_packed[to]++;
        return;
    }
    if (w->packed[to] != NULL && !give_packed(w, to)) {
        worker_drop(w, DROP_HANDOFF_FULL);
        return;
    }
    handoff_collect(w->shared->handoff, w->index);
    w->packed[to] = pktbuf_get(w->pool);
    if (w->packed[to] == NULL) {
        worker_drop(w, DROP_NO_BUFFER);
        return;
    }
    w->packing |= 1ull << to;
    w->n_packed[to] = 1;
    (void)handoff_pack(w->packed[to], note, data);
}

/* By which of the workers that have live tunnels of the link, is the flow's choice. */
static void hand_off(struct worker *w, struct packet *p, const struct link *l, uint64_t hash,
                     uint32_t mtu, uint32_t mss_mtu)
{
    uint64_t workers = live_map_get(w->shared->live, l->slot) & ~(1ull << w->index);
    if (workers == 0) {
        worker_drop(w, DROP_NO_TUNNEL);
        return;
    }
    unsigned to = nth_bit(workers, flow_hash_pick(hash, (uint32_t)__builtin_popcountll(workers)));
    struct handoff_note note = {
        .hash = hash, .slot = l->slot, .mtu = mtu, .mss_mtu = mss_mtu, .len = p->in.len};
    if (p->buf == NULL) {
        pack(w, to, &note, p->data);
        return;
    }
    struct handoff_item item = {.buf = *p->buf, .note = note, .vh = p->vh};
    *p->buf = NULL;
    item.buf->data = p->data;
    item.buf->len = p->in.len;
    if (!give(w, to, &item, 1)) {
        pktbuf_put(item.buf);
        worker_drop(w, DROP_HANDOFF_FULL);
    }
}

/* One complete inner packet into the tunnel's burst. False: no more of this super-packet. */
static bool seal(struct worker *w, struct tunnel *t, uint8_t *data, size_t len, uint8_t next_header,
                 uint8_t tos, size_t counts)
{
    size_t esp_len = esp_out_len(len);
    uint8_t *dst = burst_reserve(w, t, esp_len, tos);
    if (dst == NULL) {
        worker_drop(w, DROP_NO_BUFFER);
        return false;
    }
    enum drop_reason why = esp_out_seal(t->out, data, len, next_header, dst);
    if (__builtin_expect(why != DROP_NONE, 0)) {
        worker_drop(w, why);
        return false;
    }
    burst_commit(w, t, esp_len, counts);
    return true;
}

static void after_seal(struct worker *w, struct tunnel *t)
{
    if (__builtin_expect(t->out->events != 0, 0))
        tunnel_sa_events(w, t->out);
}

void forward_seal(struct worker *w, struct tunnel *t, uint8_t *data, size_t len, uint8_t family,
                  uint8_t tos, bool is_data)
{
    if (t->out == NULL) {
        worker_drop(w, DROP_NO_SA);
        return;
    }
    uint8_t next = family == 4 ? IP_PROTO_IPV4_IN : IP_PROTO_IPV6_IN;
    (void)seal(w, t, data, len, next, tos, is_data ? len : 0);
    after_seal(w, t);
}

/* Fragments' own headers are the kernel's affair and not counted. */
static void count_fragmented(struct worker *w, struct tunnel *t, size_t inner_len, size_t esp_len)
{
    uint64_t wire = esp_len + burst_overhead(t);
    stats_add(&w->st->outer_fragmented, 1);
    stats_add(&w->st->udp_writes, 1);
    stats_add(&w->st->udp_write_bytes, wire);
    stats_add(&w->st->segments_out, 1);
    stats_add(&t->st->tx_packets, 1);
    stats_add(&t->st->tx_inner_bytes, inner_len);
    stats_add(&t->st->tx_wire_bytes, wire);
}

/*
 * An inner IPv6 packet that must pass although it is over the tunnel's MTU: alone, with outer
 * fragmentation. False: no more of this super-packet.
 */
static bool seal_fragmented(struct worker *w, struct tunnel *t, const struct gso_segment *s,
                            uint8_t next_header, uint8_t tos)
{
    burst_send(w, t);
    struct pktbuf *b = pktbuf_get(w->pool);
    if (b == NULL) {
        worker_drop(w, DROP_NO_BUFFER);
        return false;
    }
    size_t len = esp_out_len(s->len);
    enum drop_reason why = esp_out_seal(t->out, s->data, s->len, next_header, b->data);
    if (why == DROP_NONE && udp_io_send_fragmented(t->sock, &t->path, b->data, len, tos) != 0)
        why = DROP_UDP_SEND;
    pktbuf_put(b);
    if (why != DROP_NONE) {
        worker_drop(w, why);
        return false;
    }
    count_fragmented(w, t, s->len, len);
    return true;
}

/* Largest packet that passes uncut by a tunnel or route of this MTU. */
static uint32_t size_limit(const struct packet *p, uint32_t mtu)
{
    return p->in.family == 6 && mtu < IPV6_MIN_MTU ? IPV6_MIN_MTU : mtu;
}

static void split_and_seal(struct worker *w, struct tunnel *t, struct packet *p, uint32_t mtu)
{
    struct gso_split split;
    uint32_t limit = size_limit(p, mtu);
    switch (gso_split_begin(&split, p->data, &p->in, &p->vh, limit)) {
    case GSO_OK:
        break;
    case GSO_TOO_BIG:
        worker_drop(w, DROP_TOO_BIG);
        forward_too_big(w, p, t->link, limit);
        return;
    case GSO_BAD:
        worker_drop(w, DROP_BAD_GSO);
        return;
    }
    uint8_t next = inner_next_header(&p->in), tos = inner_outer_tos(&p->in);
    struct gso_segment s;
    bool going = true;
    while (going && gso_split_next(&split, &s))
        going = s.len > mtu ? seal_fragmented(w, t, &s, next, tos)
                            : seal(w, t, s.data, s.len, next, tos, s.len);
    after_seal(w, t);
}

/* Or one whose checksum is still to be completed. */
static bool is_super_packet(const struct packet *p)
{
    return p->vh.gso_type != VNET_GSO_NONE || (p->vh.flags & VNET_F_NEEDS_CSUM);
}

/* Out by this tunnel: `mtu` is the route's limit, `mss_mtu` that of the link it came in by (0:
 * none). */
static void send_by(struct worker *w, struct tunnel *t, struct packet *p, uint32_t mtu,
                    uint32_t mss_mtu)
{
    mtu = smaller(t->link->set.mtu, mtu);
    if (mss_wanted(p->data, &p->in))
        (void)mss_clamp(p->data, &p->in, smaller(mtu, mss_mtu),
                        (p->vh.flags & VNET_F_NEEDS_CSUM) != 0);
    if (p->in.len > mtu || is_super_packet(p))
        split_and_seal(w, t, p, mtu);
    else
        forward_seal(w, t, p->data, p->in.len, p->in.family, inner_outer_tos(&p->in), true);
}

/* For another worker. What came out of a tunnel and is too big is answered here, where the way back
 * is known. */
static void forward_elsewhere(struct worker *w, struct packet *p, const struct link *l,
                              uint64_t hash, uint32_t route_mtu)
{
    const struct link *from = p->from != NULL ? p->from->link : NULL;
    uint32_t limit = size_limit(p, smaller(l->set.mtu, route_mtu));
    if (from != NULL && p->in.len > limit && (p->in.flags & INNER_DF)) {
        worker_drop(w, DROP_TOO_BIG);
        forward_too_big(w, p, l, limit);
        return;
    }
    hand_off(w, p, l, hash, route_mtu, from != NULL ? from->set.mtu : 0);
}

void forward_packet(struct worker *w, struct packet *p, const struct fib_route *route)
{
    const struct link *from = p->from != NULL ? p->from->link : NULL;
    uint64_t hash = flow_hash(p->data, &p->in, w->routing->flow_seed);
    bool loop = false;
    uint64_t live = live_members(w, route->set, from, &loop);
    int member = live != 0 ? fib_set_member(route->set, hash, live) : -1;
    if (member < 0) {
        worker_drop(w, loop ? DROP_LOOP : DROP_NO_TUNNEL);
        return;
    }
    const struct link *l = w->links[route->set->slot[member]];
    struct tunnel *t = choose_tunnel(l, hash, w->routing->tunnel_seed);
    if (t == NULL)
        forward_elsewhere(w, p, l, hash, route->mtu);
    else
        send_by(w, t, p, route->mtu, from != NULL ? from->set.mtu : 0);
}

static void take(struct worker *w, uint8_t *data, const struct handoff_note *note,
                 const struct vnet_hdr *vh)
{
    struct packet p = {.data = data, .vh = *vh};
    const struct link *l = w->links[note->slot];
    if (!inner_parse(data, note->len, &p.in)) {
        worker_drop(w, DROP_INNER_MALFORMED);
        return;
    }
    struct tunnel *t = l != NULL ? choose_tunnel(l, note->hash, w->routing->tunnel_seed) : NULL;
    if (t == NULL)
        worker_drop(w, DROP_NO_TUNNEL);
    else
        send_by(w, t, &p, note->mtu, note->mss_mtu);
}

void forward_handed(struct worker *w, const struct handoff_item *item)
{
    if (!item->packed) {
        stats_add(&w->st->handoff_in, 1);
        take(w, item->buf->data, &item->note, &item->vh);
        return;
    }
    const struct vnet_hdr whole = {0};
    struct handoff_note note;
    uint8_t *data;
    for (uint32_t at = 0; handoff_unpack(item->buf, &at, &note, &data);) {
        stats_add(&w->st->handoff_in, 1);
        take(w, data, &note, &whole);
    }
}

/* A bucket of ICMP_PER_SECOND, filled by time. */
static bool icmp_allowed(struct worker *w)
{
    if (w->now_ns >= w->icmp_refill_ns) {
        w->icmp_tokens = ICMP_PER_SECOND;
        w->icmp_refill_ns = w->now_ns + NS_PER_S;
    }
    if (w->icmp_tokens == 0)
        return false;
    w->icmp_tokens--;
    return true;
}

static void to_tun(struct worker *w, uint8_t *pkt, size_t len)
{
    uint8_t hdr[VNET_HDR_LEN];
    vnet_hdr_build_plain(hdr);
    struct iovec iov[2] = {{hdr, sizeof hdr}, {pkt, len}};
    if (w->tun_fd < 0 || tun_io_write(w->tun_fd, iov, 2) != 0)
        worker_drop(w, DROP_TUN_WRITE);
}

/* Back by the tunnel that the packet came out of, or to TUN. */
static void reply(struct worker *w, const struct packet *p, uint8_t *pkt, size_t len)
{
    if (len == 0)
        return;
    if (p->from == NULL)
        to_tun(w, pkt, len);
    else
        forward_seal(w, p->from, pkt, len, p->in.family, 0, true);
}

static const struct ipaddr *by_family(const struct ipaddr *v4, const struct ipaddr *v6,
                                      uint8_t family)
{
    return family == 4 ? v4 : v6;
}

/*
 * Towards TUN the peer's overlay address speaks, since the kernel takes a packet with one of its
 * own source addresses for a martian; out of a tunnel our own does.
 */
void forward_too_big(struct worker *w, const struct packet *p, const struct link *out, uint32_t mtu)
{
    const struct ipaddr *from =
        p->from == NULL ? by_family(&out->peer_overlay4, &out->peer_overlay6, p->in.family)
                        : by_family(&w->routing->overlay4, &w->routing->overlay6, p->in.family);
    if (from->family == 0 || !icmp_allowed(w))
        return;
    uint8_t pkt[ICMP_REPLY_MAX + ESP_TAIL_MAX];
    reply(w, p, pkt, icmp_reply_too_big(p->data, &p->in, from->b, mtu, pkt, ICMP_REPLY_MAX));
}

void forward_ttl_exceeded(struct worker *w, const struct packet *p)
{
    const struct ipaddr *from =
        by_family(&w->routing->overlay4, &w->routing->overlay6, p->in.family);
    if (from->family == 0 || !icmp_allowed(w))
        return;
    uint8_t pkt[ICMP_REPLY_MAX + ESP_TAIL_MAX];
    reply(w, p, pkt, icmp_reply_time_exceeded(p->data, &p->in, from->b, pkt, ICMP_REPLY_MAX));
}
