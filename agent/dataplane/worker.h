/*
 * A worker: one thread that owns one TUN queue, the UDP sockets of its ports, the SAs on them and
 * their replay windows, and shares nothing on the packet path. It allocates nothing, locks nothing
 * and logs nothing.
 */
#ifndef HAWSER_DATAPLANE_WORKER_H
#define HAWSER_DATAPLANE_WORKER_H

#include "agent/dataplane/batch.h"
#include "agent/dataplane/fib.h"
#include "agent/dataplane/gro_merge.h"
#include "agent/dataplane/handoff.h"
#include "agent/dataplane/live_map.h"
#include "agent/dataplane/sa_table.h"
#include "agent/dataplane/snapshot.h"
#include "agent/dataplane/spsc.h"
#include "agent/dataplane/stats.h"
#include "agent/dataplane/tunnel.h"
#include "common/err.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define WORKER_BUFFERS 64u /* packet buffers of 64 KiB a worker */
#define WORKER_EVENTS  4096u

/* What all workers read and only the control thread replaces (snapshot.h). */
struct routing {
    struct fib *fib;                  /* NULL before the first commit */
    struct ipaddr overlay4, overlay6; /* own; family 0 before the first NODE_SET */
    uint64_t flow_seed, tunnel_seed;
};

/* What the control thread asks a worker to do: run on the worker's thread between two batches,
 * while the control thread waits. So both may touch what `arg` points to, each in its turn. */
struct worker;
typedef void worker_order_fn(struct worker *w, void *arg);

/* From a worker to the control thread: a message for the agent, or an SA to wipe. */
struct worker_event {
    uint16_t type; /* enum dp_type, or 0: `dead` */
    union {
        struct dp_tunnel_event tunnel;
        struct dp_sa_event sa;
        struct dp_peer_moved moved;
        struct sa *dead;
    };
};

/* The same for all workers, fixed before they start. */
struct worker_shared {
    unsigned workers;
    int control_fd; /* eventfd that wakes the control thread */
    bool gso, gro;  /* UDP features in use */
    bool plain_tun; /* no TUN offloads */
    struct snapshot_cell *routing;
    struct live_map *live;
    struct handoff *handoff;
    int wake_fd[HW_WORKERS_MAX]; /* eventfd of each worker */
};

struct worker_order {
    worker_order_fn *fn;
    void *arg;
};

/* Fields without another word: the worker's own thread. */
struct worker {
    unsigned index;
    const struct worker_shared *shared;
    int epoll_fd;
    struct spsc orders; /* struct worker_order, from the control thread */
    int done_fd;        /* eventfd: an order was carried out */
    struct spsc events; /* struct worker_event, to the control thread */
    bool told;          /* events were added since the control thread was last woken */
    bool untold;        /* some event found no room: look at all tunnels again */
    bool stop;
    struct dp_stats_worker *st;

    uint64_t now_ns;               /* read once a turn */
    const struct routing *routing; /* valid during a turn */

    int tun_fd; /* −1: not attached */
    uint16_t tun_queues;
    uint32_t tun_mtu;
    bool tun_uso;
    struct pktbuf *tun_buf; /* the buffer that TUN is read into */
    struct udp_socket
        sock[2][HW_PORTS_PER_GATEWAY]; /* [IPv4, IPv6][port index]; fd −1: not attached */
    uint16_t sock_port[2][HW_PORTS_PER_GATEWAY];

    struct sa_table sas;
    struct sa *dead; /* ended SAs that the control thread has yet to take; by `owner` */
    struct link *links[HW_LINKS_MAX]; /* by slot */
    struct tunnel *tunnels[HW_TUNNELS_MAX];
    unsigned n_tunnels;
    uint64_t next_tick_ns; /* when some tunnel wants tunnel_tick */

    struct pktbuf_pool *pool;
    struct gro_merge *gro;
    struct batch held;     /* what gro still points into */
    struct tunnel *bursts; /* tunnels that may have datagrams to send */
    uint64_t given;        /* bit per worker: got hand-offs in this turn, to be woken */
    uint64_t packing;      /* bit per worker: has a buffer in packed[] */
    struct pktbuf *packed[HW_WORKERS_MAX]; /* packets for it, given at the end of the turn */
    uint32_t n_packed[HW_WORKERS_MAX];
    uint64_t icmp_refill_ns; /* limit of ICMP errors: */
    uint32_t icmp_tokens;

    pthread_t thread;
    int cpu; /* to be pinned to; −1: none */
};

/* Control thread, before start: everything that it will ever allocate. */
int worker_new(unsigned index, const struct worker_shared *shared, struct dp_stats_worker *st,
               int cpu, struct worker **out, struct err *e);
int worker_start(struct worker *w, struct err *e);
/* Its thread must have ended (an order that sets `stop`), and its buffers come home. NULL is
 * accepted. */
void worker_free(struct worker *w);

/* Control thread: gives an order to the worker, to be followed by worker_wait. */
void worker_order(struct worker *w, worker_order_fn *fn, void *arg);
/* Waits until it is carried out. HW_ETIMEOUT: the worker is stuck. */
int worker_wait(struct worker *w, uint64_t timeout_ns, struct err *e);

/* Worker: reads from a descriptor from now on (0 or -errno); no more, and closes it. */
int worker_watch_tun(struct worker *w, int fd);
int worker_watch_udp(struct worker *w, struct udp_socket *s);
void worker_unwatch(struct worker *w, int fd);

/* Worker: room for one event, or NULL; worker_event_done makes it visible. */
struct worker_event *worker_event(struct worker *w, unsigned type);
void worker_event_done(struct worker *w);
/* Worker: an SA that nothing refers to any more goes to the control thread, which wipes it. */
void worker_bury(struct worker *w, struct sa *sa);

static inline void worker_drop(struct worker *w, enum drop_reason reason)
{
    stats_add(&w->st->drops[reason], 1);
}

#endif
