/*
 * The engine's insides, shared by the files that implement engine.h and by nobody else: engine.c
 * (life, descriptors, events), engine_routing.c, engine_link.c (links and their SAs),
 * engine_dump.c. All of it is the control thread's.
 */
#ifndef HAWSER_DATAPLANE_ENGINE_STATE_H
#define HAWSER_DATAPLANE_ENGINE_STATE_H

#include "agent/dataplane/engine.h"
#include "agent/dataplane/orders.h"
#include "agent/dataplane/worker.h"
#include "common/clock.h"

/* A worker takes an order after its batch, well under a millisecond; this is for machines in
 * distress. */
#define ENGINE_WORKER_TIMEOUT_NS (5 * NS_PER_S)

struct engine_link {
    bool used;
    struct dp_link_set set;
    uint16_t stats_slot[HW_TUNNELS_PER_LINK_MAX];
};

struct engine {
    struct hw_id boot;
    const struct aead_provider *aead;
    struct stats stats;
    struct snapshot_cell routing; /* struct routing */
    struct live_map live;
    struct worker_shared shared;
    struct worker *worker[HW_WORKERS_MAX];
    unsigned started;        /* workers whose thread runs */
    bool tun_uso;            /* found when TUN was attached */
    struct dp_node_set node; /* gateway zero: not set */
    struct engine_link link[HW_LINKS_MAX];
    bool stats_used[HW_TUNNELS_MAX];
    void *fib_image; /* last committed, kept to build anew when links change */
    size_t fib_len;
};

/* Fail-stop: a worker that does not answer still owns SAs, sockets and what the order points to. */
_Noreturn void engine_end_stuck(const struct err *e);
/* Give an order to all workers that run, or to one, and wait until it is carried out. */
void engine_order_all(struct engine *en, worker_order_fn *fn, void *arg);
void engine_order_one(struct engine *en, unsigned worker, worker_order_fn *fn, void *arg);
/* Wipes the SAs that an order brought back from each worker. */
void engine_free_dead(struct sa *const dead[HW_WORKERS_MAX]);

/* Slot of a link, or FIB_NO_SLOT. */
int engine_find_link(const struct engine *en, const struct hw_id *id);
/* Takes the link from all workers, with its tunnels and SAs; the routing tables must not name its
 * slot. */
void engine_drop_link(struct engine *en, unsigned slot);

/* Builds the snapshot from the node, a FIB image (NULL: none) and the set of links, and puts it in
 * force. */
int engine_publish(struct engine *en, const void *image, size_t len, struct err *e);
void engine_routing_free(void *routing);

#endif
