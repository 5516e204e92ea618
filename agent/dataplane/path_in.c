#include "agent/dataplane/path_in.h"

#include "agent/dataplane/esp_in.h"
#include "agent/dataplane/esp_out.h"
#include "agent/dataplane/forward.h"
#include "agent/dataplane/inner.h"
#include "agent/dataplane/mss.h"
#include "agent/dataplane/stamp.h"
#include "agent/dataplane/tun_io.h"
#include "agent/dataplane/vnet_hdr.h"
#include <string.h>

/* Receives a turn and socket: a storm on one port must not keep the worker from probes and other
 * ports. */
#define RECEIVES_PER_TURN 16

/* One receive on its way through. */
struct arrival {
    struct udp_rx rx;
    bool kept; /* gro_merge points into the buffer */
    /* The last answer of find_route: the datagrams of one receive are mostly of one flow. */
    const struct fib_route *route; /* NULL: none yet */
    const struct link *link;
    uint8_t family;
    uint8_t addresses[32]; /* inner source and destination, as they stand in the packet */
};

void path_in_emit(void *worker, const struct iovec *iov, unsigned n, size_t bytes, unsigned packets)
{
    struct worker *w = worker;
    if (w->tun_fd < 0 || tun_io_write(w->tun_fd, iov, (int)n) != 0) {
        stats_drop(w->st, DROP_TUN_WRITE, packets);
        return;
    }
    stats_add(&w->st->tun_writes, 1);
    stats_add(&w->st->tun_write_bytes, bytes);
}

void path_in_flush(struct worker *w)
{
    gro_merge_flush(w->gro);
    batch_release(&w->held);
}

static bool is_addr(const struct ipaddr *a, uint8_t family, const uint8_t *b)
{
    return a->family == family && memcmp(a->b, b, family == 4 ? 4 : 16) == 0;
}

/* STAMP between the two ends of the link, answered or judged by the worker itself. */
static bool handle_stamp(struct worker *w, struct tunnel *t, uint8_t *pkt, const struct inner *in)
{
    const struct routing *r = w->routing;
    const struct link *l = t->link;
    if (in->proto != IP_PROTO_UDP ||
        !is_addr(in->family == 4 ? &r->overlay4 : &r->overlay6, in->family, in->dst) ||
        !is_addr(in->family == 4 ? &l->peer_overlay4 : &l->peer_overlay6, in->family, in->src))
        return false;
    switch (stamp_kind(pkt, in)) {
    case STAMP_NOT:
        return false;
    case STAMP_TEST:
        stamp_reflect(pkt, in);
        stats_add(&t->st->probes_reflected, 1);
        forward_seal(w, t, pkt, in->len, in->family, 0, false);
        return true;
    case STAMP_ANSWER:
        if (stamp_answer_ssid(pkt, in) != t->index + 1 ||
            !tunnel_answered(w, t, stamp_answer_seq(pkt, in)))
            worker_drop(w, DROP_STAMP);
        return true;
    }
    return false;
}

/* To the own site: TTL is the kernel's affair there. */
static void deliver(struct worker *w, struct arrival *a, struct packet *p)
{
    if (mss_wanted(p->data, &p->in))
        (void)mss_clamp(p->data, &p->in, p->from->link->set.mtu, false);
    gro_merge_add(w->gro, p->data, &p->in);
    a->kept = true;
}

/* On through another tunnel, as a router would. */
static void pass_on(struct worker *w, struct packet *p, const struct fib_route *route)
{
    if (!inner_ttl_decrement(p->data, &p->in)) {
        worker_drop(w, DROP_TTL);
        forward_ttl_exceeded(w, p);
        return;
    }
    forward_packet(w, p, route);
}

/* May this peer send from the inner source (RFC 4301 section 5.2), and where does the packet go?
 * NULL after counting why not. */
static const struct fib_route *look_up(struct worker *w, const struct link *l,
                                       const struct inner *in)
{
    const struct fib *fib = w->routing->fib;
    const struct fib_source *source = fib != NULL ? fib_source(fib, in->family, in->src) : NULL;
    if (source == NULL || !fib_source_by_link(source, l->slot)) {
        worker_drop(w, fib != NULL ? DROP_INNER_SOURCE : DROP_NO_ROUTE);
        return NULL;
    }
    const struct fib_route *route =
        fib_route(fib, source->domain, l->set.class_, in->family, in->dst);
    if (route == NULL)
        worker_drop(w, DROP_NO_ROUTE);
    return route;
}

/* Source and destination lie side by side in both headers. */
static const struct fib_route *find_route(struct worker *w, struct arrival *a,
                                          const struct packet *p)
{
    const struct link *l = p->from->link;
    size_t len = 2 * inner_addr_len(&p->in);
    if (a->route != NULL && a->link == l && a->family == p->in.family &&
        memcmp(a->addresses, p->in.src, len) == 0)
        return a->route;
    a->route = look_up(w, l, &p->in);
    a->link = l;
    a->family = p->in.family;
    memcpy(a->addresses, p->in.src, len);
    return a->route;
}

static void route_in(struct worker *w, struct arrival *a, struct packet *p)
{
    const struct fib_route *route = find_route(w, a, p);
    if (route == NULL)
        return;
    if (route->kind == DP_ROUTE_LOCAL)
        deliver(w, a, p);
    else if (route->kind == DP_ROUTE_SET)
        pass_on(w, p, route);
    else
        worker_drop(w, DROP_UNREACHABLE);
}

/* What an authenticated packet tells about the tunnel itself. The SA may be gone afterwards. */
static void note_received(struct worker *w, struct tunnel *t, struct sa *sa,
                          const struct arrival *a, uint64_t seq)
{
    if (t->st->last_rx_mono_ns != w->now_ns)
        stats_set(&t->st->last_rx_mono_ns, w->now_ns);
    /* Only the newest packet moves the endpoint: a delayed or replayed-in-window one tells of the
     * past. */
    if (__builtin_expect(!udp_path_from(&t->path, &a->rx.from), 0) && !t->link->set.remote_fixed &&
        seq == sa->replay.top)
        tunnel_move(w, t, &a->rx.from);
    if (__builtin_expect(sa->events != 0, 0))
        tunnel_sa_events(w, sa);
}

static void count_data(struct tunnel *t, size_t inner_len, size_t esp_len)
{
    stats_add(&t->st->rx_packets, 1);
    stats_add(&t->st->rx_inner_bytes, inner_len);
    stats_add(&t->st->rx_wire_bytes, esp_len + (t->link->local.family == 4 ? 28 : 48));
}

static void count_refused(struct tunnel *t, enum drop_reason why)
{
    if (why == DROP_ESP_AUTH)
        stats_add(&t->st->auth_failures, 1);
    else if (why == DROP_ESP_REPLAY)
        stats_add(&t->st->replays, 1);
}

/* Opens one datagram and checks the packet in it. DROP_NONE: p is ready to be routed. */
static enum drop_reason open_datagram(struct worker *w, struct arrival *a, uint8_t *dgram,
                                      size_t len, struct packet *p)
{
    struct sa *sa;
    enum drop_reason why = esp_in_find(&w->sas, dgram, len, &sa);
    if (why != DROP_NONE)
        return why;
    struct tunnel *t = sa->owner;
    if (!t->link->set.enabled)
        return DROP_ESP_NO_LINK;
    struct esp_opened o;
    why = esp_in_open(sa, dgram, len, dgram + ESP_HEAD, &o);
    if (why != DROP_NONE && why != DROP_ESP_DUMMY) {
        count_refused(t, why);
        return why;
    }
    note_received(w, t, sa, a, o.seq);
    if (why != DROP_NONE)
        return why;
    p->data = o.data;
    p->from = t;
    if (!inner_parse(o.data, o.len, &p->in) || inner_next_header(&p->in) != o.next_header)
        return DROP_INNER_MALFORMED;
    return inner_ecn_decapsulate(o.data, &p->in, a->rx.tos) ? DROP_NONE : DROP_ECN;
}

static void datagram_in(struct worker *w, struct arrival *a, uint8_t *dgram, size_t len)
{
    struct packet p = {0};
    enum drop_reason why = open_datagram(w, a, dgram, len, &p);
    if (__builtin_expect(why != DROP_NONE, 0)) {
        worker_drop(w, why);
        return;
    }
    if (handle_stamp(w, p.from, p.data, &p.in))
        return;
    count_data(p.from, p.in.len, len);
    route_in(w, a, &p);
}

static void burst_in(struct worker *w, struct arrival *a, uint8_t *data)
{
    uint64_t segments = 0;
    for (uint32_t at = 0; at < a->rx.len; at += a->rx.seg, segments++) {
        uint32_t len = a->rx.len - at < a->rx.seg ? a->rx.len - at : a->rx.seg;
        datagram_in(w, a, data + at, len);
    }
    stats_add(&w->st->udp_reads, 1);
    stats_add(&w->st->udp_read_bytes,
              a->rx.len + segments * (a->rx.from.sa.sa_family == AF_INET ? 28 : 48));
    stats_add(&w->st->segments_in, segments);
}

void path_in_drain(struct worker *w, struct udp_socket *s)
{
    for (unsigned i = 0; i < RECEIVES_PER_TURN; i++) {
        if (batch_full(&w->held))
            path_in_flush(w);
        struct pktbuf *b = pktbuf_get(w->pool);
        if (b == NULL) {
            worker_drop(w, DROP_NO_BUFFER);
            return;
        }
        struct arrival a = {0};
        int n = udp_io_recv(s, b->data, PKTBUF_ROOM, &a.rx);
        if (n < 0) {
            pktbuf_put(b);
            return;
        }
        if (n == 0)
            worker_drop(w, DROP_ESP_SHORT);
        burst_in(w, &a, b->data);
        if (a.kept)
            batch_add(&w->held, b);
        else
            pktbuf_put(b);
    }
}
