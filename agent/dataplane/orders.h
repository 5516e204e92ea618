/*
 * What the control thread asks of workers (worker_order): each runs on the worker's thread between
 * two batches while the control thread waits, so that the packet path needs no locks. One argument
 * struct may serve all workers at once: each touches its own part of it.
 */
#ifndef HAWSER_DATAPLANE_ORDERS_H
#define HAWSER_DATAPLANE_ORDERS_H

#include "agent/dataplane/worker.h"

struct order_tun {
    int fd;
    uint16_t queues;
    uint32_t mtu;
    bool uso;
    struct gro_merge *gro; /* in: fresh one; out: the old one, to be freed */
    int rc;                /* 0 or -errno */
};
worker_order_fn order_attach_tun;

struct order_udp {
    int fd;
    uint8_t family;
    uint8_t port_index;
    uint16_t port;
    int rc;
};
worker_order_fn order_attach_udp;

/* Every worker gets it. fresh[i] are zeroed tunnels for those that are new, with their place in the
 * counters. */
struct order_link {
    unsigned slot;
    struct dp_link_set set;
    struct link
        *link[HW_WORKERS_MAX]; /* in: for workers that don't know it; taken ones become NULL */
    struct tunnel *fresh[HW_TUNNELS_PER_LINK_MAX]; /* taken ones become NULL */
    struct dp_stats_tunnel *st[HW_TUNNELS_PER_LINK_MAX];
    struct tunnel *gone[HW_TUNNELS_PER_LINK_MAX]; /* out: tunnels that are no more */
    struct sa *dead[HW_WORKERS_MAX];              /* out */
};
worker_order_fn order_link_set;
worker_order_fn order_link_remove; /* uses slot; gives link, gone and dead */

struct order_sa {
    unsigned slot;
    struct hw_id peer_boot;
    uint64_t epoch;
    bool in, out;                           /* retire */
    struct sa *sa[HW_TUNNELS_PER_LINK_MAX]; /* install: by tunnel; taken ones become NULL */
    unsigned found[HW_WORKERS_MAX];         /* out, switch: tunnels that send on the epoch */
    struct sa *dead[HW_WORKERS_MAX];        /* out: to be wiped */
    struct err err[HW_WORKERS_MAX];         /* out, install: code 0 is success */
};
worker_order_fn order_sa_install;
worker_order_fn order_sa_switch;
worker_order_fn order_sa_retire;

/* SAs in use, and the state of each tunnel. */
struct order_dump {
    struct dp_dump_sa *sa[HW_WORKERS_MAX]; /* room for all that a worker can have */
    unsigned n[HW_WORKERS_MAX];
    uint8_t (*state)[HW_TUNNELS_PER_LINK_MAX]; /* [slot][tunnel] */
    struct dp_dump_tun tun[HW_WORKERS_MAX];    /* queues 0: none attached */
    struct dp_attach_udp *udp[HW_WORKERS_MAX]; /* room for 2 × ports */
    unsigned n_udp[HW_WORKERS_MAX];
};
worker_order_fn order_dump;

/* A new agent: events that an earlier one may not have seen are raised again. */
worker_order_fn order_retell;

/* Shows that the thread has got as far as its first turn. */
worker_order_fn order_nothing;
/* The thread ends after this turn. */
worker_order_fn order_stop;

#endif
