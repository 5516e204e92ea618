#include "agent/dataplane/burst.h"

#include "agent/dataplane/udp_io.h"
#include <errno.h>

static void count_sent(struct worker *w, struct tunnel *t)
{
    const struct burst *b = &t->burst;
    stats_add(&w->st->udp_writes, 1);
    stats_add(&w->st->udp_write_bytes, b->buf->len + b->count * burst_overhead(t));
    stats_add(&w->st->segments_out, b->count);
    if (b->packets != 0) {
        stats_add(&t->st->tx_packets, b->packets);
        stats_add(&t->st->tx_inner_bytes, b->inner_bytes);
        stats_add(&t->st->tx_wire_bytes, b->esp_bytes + b->packets * burst_overhead(t));
    }
}

static void clear(struct burst *b)
{
    pktbuf_put(b->buf);
    b->buf = NULL;
    b->count = b->packets = 0;
    b->inner_bytes = b->esp_bytes = 0;
}

/* A device that cannot complete checksums refuses UDP_SEGMENT with EIO: from then on the socket
 * does without. */
static int send_or_fall_back(struct tunnel *t)
{
    const struct burst *b = &t->burst;
    int rc = udp_io_send(t->sock, &t->path, b->buf->data, b->buf->len, b->seg, b->tos);
    if (rc != -EIO || !t->sock->gso)
        return rc;
    t->sock->gso = false;
    return udp_io_send(t->sock, &t->path, b->buf->data, b->buf->len, b->seg, b->tos);
}

void burst_send(struct worker *w, struct tunnel *t)
{
    struct burst *b = &t->burst;
    if (b->buf == NULL)
        return;
    if (b->count != 0) {
        int rc = send_or_fall_back(t);
        if (rc == 0)
            count_sent(w, t);
        else
            stats_drop(w->st, rc == -EAGAIN || rc == -ENOBUFS ? DROP_UDP_FULL : DROP_UDP_SEND,
                       b->count);
    }
    clear(b);
}

void burst_full(struct worker *w, struct tunnel *t)
{
    stats_add(&w->st->gso_splits, 1);
    burst_send(w, t);
}

/* A tunnel stays on the list after its burst was sent full: it is likely to fill the next one at
 * once. */
static void list_add(struct worker *w, struct tunnel *t)
{
    if (t->burst_listed)
        return;
    t->burst_listed = true;
    t->burst_next = w->bursts;
    w->bursts = t;
}

uint8_t *burst_begin(struct worker *w, struct tunnel *t, size_t len, uint8_t tos)
{
    struct burst *b = &t->burst;
    burst_send(w, t);
    b->buf = pktbuf_get(w->pool);
    if (b->buf == NULL) {
        /* More tunnels in use than buffers: what waits goes out early. */
        burst_flush_all(w);
        handoff_collect(w->shared->handoff, w->index);
        b->buf = pktbuf_get(w->pool);
        if (b->buf == NULL)
            return NULL;
    }
    b->seg = (uint32_t)len;
    b->max = udp_io_burst(t->link->local.family, len);
    b->tos = tos;
    b->closed = false;
    list_add(w, t);
    return b->buf->data;
}

void burst_flush_all(struct worker *w)
{
    struct tunnel *t = w->bursts;
    w->bursts = NULL;
    while (t != NULL) {
        struct tunnel *next = t->burst_next;
        t->burst_listed = false;
        burst_send(w, t);
        t = next;
    }
}
