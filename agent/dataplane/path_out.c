#include "agent/dataplane/path_out.h"

#include "agent/dataplane/forward.h"
#include "agent/dataplane/tun_io.h"
#include "agent/dataplane/vnet_hdr.h"
#include <errno.h>

/* Super-packets a turn: enough to fill bursts of several tunnels, few enough that datagrams wait
 * for at most some hundred microseconds. */
#define READS_PER_TURN 16

/* The gateway's kernel announces its groups (MLD) on every device, this one too: a counter of its
 * own keeps that apart from sources that are wrong. */
static enum drop_reason strange_source(const struct fib *fib, const struct inner *in)
{
    if (inner_link_scope(in))
        return DROP_LINK_SCOPE;
    return fib != NULL ? DROP_INNER_SOURCE : DROP_NO_ROUTE;
}

/* Where it may go, by the rules for packets of the site. NULL after counting why not. */
static const struct fib_route *find_route(struct worker *w, const struct inner *in)
{
    const struct fib *fib = w->routing->fib;
    const struct fib_source *source = fib != NULL ? fib_source(fib, in->family, in->src) : NULL;
    if (source == NULL || !source->local) {
        worker_drop(w, strange_source(fib, in));
        return NULL;
    }
    const struct fib_route *route =
        fib_route(fib, source->domain, DP_CLASS_SITE, in->family, in->dst);
    if (route == NULL) {
        worker_drop(w, DROP_NO_ROUTE);
        return NULL;
    }
    if (route->kind == DP_ROUTE_SET)
        return route;
    /* What the kernel sent here although it is the site's own would only come back. */
    worker_drop(w, route->kind == DP_ROUTE_LOCAL ? DROP_LOOP : DROP_UNREACHABLE);
    return NULL;
}

static void packet_out(struct worker *w, struct pktbuf **buf)
{
    struct pktbuf *b = *buf;
    struct packet p = {.buf = buf, .data = b->data + VNET_HDR_LEN};
    if (b->len <= VNET_HDR_LEN ||
        !vnet_hdr_parse(b->data, VNET_HDR_LEN, b->len - VNET_HDR_LEN, &p.vh)) {
        worker_drop(w, DROP_BAD_GSO);
        return;
    }
    if (!inner_parse(p.data, b->len - VNET_HDR_LEN, &p.in)) {
        worker_drop(w, DROP_INNER_MALFORMED);
        return;
    }
    const struct fib_route *route = find_route(w, &p.in);
    if (route != NULL)
        forward_packet(w, &p, route);
}

/* A hand-off took the buffer: the next one comes from the pool. */
static bool have_buffer(struct worker *w)
{
    if (w->tun_buf == NULL) {
        handoff_collect(w->shared->handoff, w->index);
        w->tun_buf = pktbuf_get(w->pool);
    }
    return w->tun_buf != NULL;
}

/* The device is gone under us: polling it would spin. The agent sees in a dump that the queue is
 * missing. */
static void tun_lost(struct worker *w)
{
    worker_unwatch(w, w->tun_fd);
    w->tun_fd = -1;
}

void path_out_drain(struct worker *w)
{
    for (unsigned i = 0; i < READS_PER_TURN && have_buffer(w); i++) {
        struct pktbuf *b = w->tun_buf;
        pktbuf_reset(b);
        ssize_t n = tun_io_read(w->tun_fd, b->data, TUN_IO_READ_MAX);
        if (n == -EBADFD)
            tun_lost(w);
        if (n <= 0)
            return;
        b->len = (uint32_t)n;
        stats_add(&w->st->tun_reads, 1);
        stats_add(&w->st->tun_read_bytes, (uint64_t)n - (n > VNET_HDR_LEN ? VNET_HDR_LEN : 0));
        packet_out(w, &w->tun_buf);
    }
}
