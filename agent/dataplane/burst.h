/*
 * Gathers sealed datagrams of one tunnel side by side, so that one UDP_SEGMENT send carries many:
 * those of one super-packet, and those of neighbouring packets that happen to have the same size
 * and TOS.
 */
#ifndef HAWSER_DATAPLANE_BURST_H
#define HAWSER_DATAPLANE_BURST_H

#include "agent/dataplane/worker.h"

/* Outer headers that the kernel puts before each datagram. */
static inline uint64_t burst_overhead(const struct tunnel *t)
{
    return t->link->local.family == 4 ? 20 + 8 : 40 + 8;
}

/* Starts a burst for datagrams of `len` bytes; sends what cannot be joined first. NULL: no buffer.
 */
uint8_t *burst_begin(struct worker *w, struct tunnel *t, size_t len, uint8_t tos);
/* Sends the tunnel's burst now. Its list entry stays until burst_flush_all. */
void burst_send(struct worker *w, struct tunnel *t);
/* The same, because it reached what the kernel sends uncut. */
void burst_full(struct worker *w, struct tunnel *t);
/* Sends every burst: at the end of each batch. */
void burst_flush_all(struct worker *w);

/* Where the next datagram of `len` bytes is to be sealed; burst_commit makes it part of the send.
 */
static inline uint8_t *burst_reserve(struct worker *w, struct tunnel *t, size_t len, uint8_t tos)
{
    struct burst *b = &t->burst;
    if (__builtin_expect(b->buf != NULL && !b->closed && len <= b->seg && tos == b->tos, 1))
        return b->buf->data + b->buf->len;
    return burst_begin(w, t, len, tos);
}

/* inner_len 0: a probe, which doesn't count as data. */
static inline void burst_commit(struct worker *w, struct tunnel *t, size_t len, size_t inner_len)
{
    struct burst *b = &t->burst;
    b->buf->len += (uint32_t)len;
    b->count++;
    b->closed = len < b->seg;
    if (inner_len != 0) {
        b->packets++;
        b->inner_bytes += inner_len;
        b->esp_bytes += len;
    }
    if (b->count == b->max)
        burst_full(w, t);
}

#endif
