/*
 * Packets between workers: used when the worker that holds a packet owns no live tunnel of the
 * chosen next hop. The choice is made by the giver; the taker only picks one of its tunnels, cuts
 * and seals. The giver's buffer travels and comes home by a ring of its own. A full ring is a
 * counted drop.
 */
#ifndef HAWSER_DATAPLANE_HANDOFF_H
#define HAWSER_DATAPLANE_HANDOFF_H

#include "agent/dataplane/pktbuf.h"
#include "agent/dataplane/vnet_hdr.h"
#include "common/err.h"
#include <stdbool.h>
#include <stdint.h>

#define HANDOFF_SLOTS 32u

struct worker;

struct handoff_item {
    struct pktbuf *buf; /* data and len: the inner packet */
    struct vnet_hdr vh; /* what TUN said of it; all zero for a packet out of a tunnel */
    uint64_t hash;      /* flow hash */
    uint32_t slot;      /* of the link to leave by */
    uint32_t mtu;       /* the route's limit; 0: none */
    uint32_t mss_mtu;   /* limit for TCP's MSS besides the tunnel's own */
};

struct handoff; /* the rings of all pairs of workers */

/* buffers: of each worker's pool, all of which must be able to come home. */
int handoff_new(unsigned workers, unsigned buffers, struct handoff **out, struct err *e);
void handoff_free(struct handoff *h);

/* Worker `from`: passes the item (and its buffer) on. False: ring full, the buffer stays the
 * caller's. */
bool handoff_give(struct handoff *h, unsigned from, unsigned to, const struct handoff_item *item);
/* Worker `to`: the oldest item that `from` gave, or NULL; after use handoff_return sends its buffer
 * home. */
const struct handoff_item *handoff_peek(struct handoff *h, unsigned from, unsigned to);
void handoff_return(struct handoff *h, unsigned from, unsigned to);
/* Worker `self`: puts buffers that came home back into the pool. */
void handoff_collect(struct handoff *h, unsigned self);

#endif
