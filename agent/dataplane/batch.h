/* Buffers whose packets are still referred to by a gather list of gro_merge: they go back to the
 * pool together, after the flush. One worker's. */
#ifndef HAWSER_DATAPLANE_BATCH_H
#define HAWSER_DATAPLANE_BATCH_H

#include "agent/dataplane/pktbuf.h"
#include <stdbool.h>

#define BATCH_MAX 8

struct batch {
    unsigned n;
    struct pktbuf *buf[BATCH_MAX];
};

static inline bool batch_full(const struct batch *b)
{
    return b->n == BATCH_MAX;
}
static inline void batch_add(struct batch *b, struct pktbuf *p)
{
    b->buf[b->n++] = p;
}
static inline void batch_release(struct batch *b)
{
    for (unsigned i = 0; i < b->n; i++)
        pktbuf_put(b->buf[i]);
    b->n = 0;
}

#endif
