/*
 * A packet and its route -> the tunnel that it leaves by: member of the next-hop set by the flow's
 * bucket, tunnel of that link by a second hash, then MSS, cutting to the tunnel's MTU, and sealing
 * into the tunnel's burst. The same for what TUN brought and for what another tunnel did.
 */
#ifndef HAWSER_DATAPLANE_FORWARD_H
#define HAWSER_DATAPLANE_FORWARD_H

#include "agent/dataplane/inner.h"
#include "agent/dataplane/vnet_hdr.h"
#include "agent/dataplane/worker.h"

/* One inner packet or super-packet on its way through a worker. */
struct packet {
    uint8_t *data; /* at least GSO_TAIL writable bytes follow its in.len */
    struct inner in;
    struct vnet_hdr vh;  /* all zero unless TUN gave one */
    struct tunnel *from; /* it came out of this tunnel; NULL: from TUN */
    struct pktbuf **buf; /* TUN: its buffer, which a hand-off takes and replaces by NULL */
};

/* Sends the packet by the route's next-hop set. */
void forward_packet(struct worker *w, struct packet *p, const struct fib_route *route);

/* Packets that another worker handed over. */
void forward_handed(struct worker *w, const struct handoff_item *item);
/* Gives other workers what was packed for them: at the end of each batch. */
void forward_hand_over(struct worker *w);
/* Drops it instead: a link goes, and its number may soon be another's. */
void forward_drop_packed(struct worker *w);

/* Seals one whole inner packet into a tunnel: ICMP errors, answers to probes. `data`: as in struct
 * packet. is_data: counts as traffic. */
void forward_seal(struct worker *w, struct tunnel *t, uint8_t *data, size_t len, uint8_t family,
                  uint8_t tos, bool is_data);

/* ICMP "too big" or "time exceeded" back to where the packet came from, at a limited rate. */
void forward_too_big(struct worker *w, const struct packet *p, const struct link *out,
                     uint32_t mtu);
void forward_ttl_exceeded(struct worker *w, const struct packet *p);

#endif
