/*
 * Links and tunnels as one worker has them. Every worker knows every link; a tunnel is owned by the
 * worker of its UDP port, and everything here is touched by that worker alone (the control thread
 * makes and frees the objects and hands them over by an order, orders.h).
 */
#ifndef HAWSER_DATAPLANE_TUNNEL_H
#define HAWSER_DATAPLANE_TUNNEL_H

#include "agent/dataplane/liveness.h"
#include "agent/dataplane/pktbuf.h"
#include "agent/dataplane/sa.h"
#include "agent/dataplane/udp_io.h"
#include "common/dp_proto.h"
#include "common/dp_stats.h"
#include <stdbool.h>
#include <stdint.h>

struct worker;

#define TUNNEL_IN_MAX 3 /* inbound epochs at once (DESIGN section 5) */

/* One send in the making: equal-size datagrams side by side (burst.h). */
struct burst {
    struct pktbuf *buf; /* NULL: empty */
    uint32_t seg;       /* size of its datagrams */
    uint32_t count, max;
    uint8_t tos;
    bool closed;      /* its last datagram is a short one: nothing may follow */
    uint32_t packets; /* data among the datagrams, probes apart … */
    uint64_t inner_bytes, esp_bytes;
};

struct tunnel {
    struct link *link;
    uint16_t index; /* within the link */
    uint8_t port_index;
    struct udp_socket *sock; /* of the worker, by port_index and family; fd −1 until attached */
    struct udp_path path;
    struct sa *out;               /* in use; NULL: none */
    struct sa *out_next;          /* stands by for SA_SWITCH or the first packet of its epoch */
    struct sa *in[TUNNEL_IN_MAX]; /* newest epoch first, NULL behind the last */
    struct liveness live;
    struct burst burst;
    struct tunnel *burst_next; /* list of tunnels that have something to send */
    bool burst_listed;
    struct dp_stats_tunnel *st;
    uint64_t tick_ns; /* when it wants tunnel_tick */
    uint64_t told_ns; /* since, state and reason that the agent was told */
    uint8_t told_state, told_reason;
    bool configured; /* path is set */
    bool moved;      /* the agent has not yet been told of the new remote */
};

struct link {
    unsigned slot; /* the engine's number for it */
    struct dp_link_set set;
    struct ipaddr local, remote, peer_overlay4, peer_overlay6;
    unsigned n_owned; /* tunnels of this worker */
    unsigned n_live;  /* of these, up */
    struct tunnel *owned[HW_TUNNELS_PER_LINK_MAX];
    struct tunnel *by_index[HW_TUNNELS_PER_LINK_MAX]; /* NULL: another worker's */
};

/* Zeroed tunnel -> one of the link, in state NO_SA. */
void tunnel_init(struct tunnel *t, struct link *l, unsigned index, struct dp_stats_tunnel *st,
                 uint64_t now_ns);
/* Takes its place in the counters. */
void tunnel_open(struct worker *w, struct tunnel *t);
/* The link's settings changed (`old`: what they were; all zero for a new tunnel): addresses,
 * liveness, enabled. A remote that followed its peer is left alone unless the configured one
 * changed. */
void tunnel_configure(struct worker *w, struct tunnel *t, const struct dp_link_set *old);
/* Gives up its SAs and its place in the counters; its burst must be empty. */
void tunnel_close(struct worker *w, struct tunnel *t);

/* Takes the SA over. The fourth inbound epoch pushes the oldest out, a second standby the first. */
int tunnel_install(struct worker *w, struct tunnel *t, struct sa *sa, struct err *e);
/* True when the tunnel sends on this epoch now. */
bool tunnel_switch(struct worker *w, struct tunnel *t, uint64_t epoch);
/* epoch 0: all. */
void tunnel_retire(struct worker *w, struct tunnel *t, uint64_t epoch, bool in, bool out);
/* The peer's dataplane is a new one: SAs of another boot id than this go, the tunnel proves itself
 * anew. */
void tunnel_peer_boot(struct worker *w, struct tunnel *t, const struct hw_id *boot);

/* First authenticated packet of an inbound SA, soft and hard limits: acts on them and tells the
 * agent. Called when sa->events is not empty; the SA may be gone afterwards. */
void tunnel_sa_events(struct worker *w, struct sa *sa);
/* An authenticated packet came from another outer address: follow it. */
void tunnel_move(struct worker *w, struct tunnel *t, const union udp_sockaddr *from);

/* Probe timer: sends what is due, judges what is late, ends SAs whose time is up. */
void tunnel_tick(struct worker *w, struct tunnel *t);
/* An answer to a probe. False: it fits none. */
bool tunnel_answered(struct worker *w, struct tunnel *t, uint32_t seq);

/* Tells the agent what it has not been told, as far as there is room. */
void tunnel_report(struct worker *w, struct tunnel *t);

/* Can carry data now. */
static inline bool tunnel_usable(const struct tunnel *t)
{
    return t->live.state == DP_TUNNEL_UP && t->out != NULL;
}

#endif
