/*
 * Packets between workers: used when the worker that holds a packet owns no live tunnel of the
 * chosen next hop. The choice is made by the giver; the taker only picks one of its tunnels, cuts
 * and seals. A super-packet from TUN travels in the buffer it was read into; packets out of tunnels
 * are packed side by side into one buffer a batch. Buffers come home by a ring of their own. A full
 * ring is a counted drop.
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

/* What the taker has to know of one packet. */
struct handoff_note {
    uint64_t hash;    /* flow hash */
    uint32_t slot;    /* of the link to leave by */
    uint32_t mtu;     /* the route's limit; 0: none */
    uint32_t mss_mtu; /* limit for TCP's MSS besides the tunnel's own; 0: none */
    uint32_t len;     /* of the packet */
};

struct handoff_item {
    struct pktbuf *buf;
    bool packed; /* records (handoff_pack) fill buf; else one packet of TUN at buf->data: */
    struct handoff_note note;
    struct vnet_hdr vh; /* what TUN said of it */
};

/* Room behind a packed packet that whoever seals it may use for a moment. */
#define HANDOFF_TAIL 8u

/* Appends a packet to the records in b. False: it does not fit any more. */
bool handoff_pack(struct pktbuf *b, const struct handoff_note *note, const uint8_t *packet);
/* The record at offset *at, which moves on; its packet in *packet. False: there are no more. */
bool handoff_unpack(const struct pktbuf *b, uint32_t *at, struct handoff_note *note,
                    uint8_t **packet);

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
