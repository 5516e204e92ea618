/*
 * Packet buffers of one worker: a fixed pool, made at start by the control thread, after that
 * touched by its worker alone (no locks). Each holds one super-packet of either side: a TUN read
 * (virtio header and up to 65,535 bytes of IP packet) or a UDP receive (up to 65,535 bytes of
 * datagrams side by side), with headroom in front and tailroom behind, so that headers and ESP
 * trailers never force a copy.
 *
 * A buffer that was handed to another worker still belongs to its own pool: it goes home by ring
 * and is freed there.
 */
#ifndef HAWSER_DATAPLANE_PKTBUF_H
#define HAWSER_DATAPLANE_PKTBUF_H

#include "common/err.h"
#include <stddef.h>
#include <stdint.h>

#define PKTBUF_HEADROOM 128
#define PKTBUF_ROOM     65536
#define PKTBUF_TAILROOM 128

/* All fields: the worker that holds the buffer. */
struct pktbuf {
    uint8_t *data; /* first valid byte; starts PKTBUF_HEADROOM into the area, 64-byte aligned */
    uint32_t len;  /* valid bytes from data on */
    uint32_t index;
    struct pktbuf *next; /* free list of the pool; the holder's own lists while in use */
    struct pktbuf_pool *pool;
    uint8_t *area;    /* PKTBUF_HEADROOM + PKTBUF_ROOM + PKTBUF_TAILROOM bytes; never changes */
    uint64_t note[4]; /* the holder's notes, for instance across a hand-off; not cleared */
};

struct pktbuf_pool;

/* A pool of `count` buffers; its memory is touched now, so that run time takes no page fault. */
int pktbuf_pool_new(unsigned count, struct pktbuf_pool **out, struct err *e);
/* All buffers must have come home. NULL is accepted. */
void pktbuf_pool_free(struct pktbuf_pool *pool);
/* Empty buffer, data at its headroom; NULL when the pool is empty (DROP_NO_BUFFER). */
struct pktbuf *pktbuf_get(struct pktbuf_pool *pool);
/* Back to its own pool: by that pool's worker only. NULL is accepted. */
void pktbuf_put(struct pktbuf *b);
unsigned pktbuf_available(const struct pktbuf_pool *pool);

static inline void pktbuf_reset(struct pktbuf *b)
{
    b->data = b->area + PKTBUF_HEADROOM;
    b->len = 0;
}
/* Bytes that may be written behind the valid ones. */
static inline size_t pktbuf_room(const struct pktbuf *b)
{
    return (size_t)(b->area + PKTBUF_HEADROOM + PKTBUF_ROOM + PKTBUF_TAILROOM - (b->data + b->len));
}

#endif
