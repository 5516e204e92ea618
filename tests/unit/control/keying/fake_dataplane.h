/*
 * A dataplane for tests: speaks common/dp_proto.h on a socket of its own, keeps SAs and links in
 * plain arrays, and can be told to be slow, to refuse, to vanish, or to be a new process.
 */
#ifndef HAWSER_TESTS_CONTROL_FAKE_DATAPLANE_H
#define HAWSER_TESTS_CONTROL_FAKE_DATAPLANE_H

#include "common/dp_proto.h"
#include "common/evloop.h"
#include <stdbool.h>

#define FAKE_SAS_MAX   1024
#define FAKE_HELD_MAX  256
#define FAKE_LINKS_MAX 16

struct fake_sa {
    struct hw_id link, peer_boot;
    struct dp_peer_cert peer_cert;
    uint64_t epoch;
    uint8_t direction, suite, esn;
    bool active;
    struct dp_sa sa;
};

struct fake_ack {
    uint32_t seq;
    int status;
};

struct fake_dataplane {
    struct evloop *loop;
    char path[108];
    int listen_fd, fd;
    struct ev_io *listen_io, *io;
    struct dp_hello hello;
    bool no_hello;      /* accept, but say nothing */
    bool hold;          /* keep acks back until fake_dataplane_release() */
    unsigned fail_type; /* requests of this type are refused … */
    int fail_status;    /* … with this */
    struct fake_ack held[FAKE_HELD_MAX];
    unsigned n_held;
    struct fake_sa sas[FAKE_SAS_MAX];
    unsigned n_sas;
    unsigned max_inbound; /* most inbound SAs of one tunnel ever held at once */
    struct dp_link_set links[FAKE_LINKS_MAX];
    uint8_t state[FAKE_LINKS_MAX][HW_TUNNELS_PER_LINK_MAX]; /* enum dp_tunnel_state */
    unsigned n_links;
    unsigned tun_queues; /* attached */
    int tun_fd[HW_WORKERS_MAX];
    struct dp_attach_udp udps[2 * HW_PORTS_PER_GATEWAY];
    unsigned n_udps;
    bool has_node;
    struct dp_node_set node;
    uint64_t generation; /* of the table committed */
    unsigned count[256]; /* requests taken, by type */
    char order[256];     /* order of SA requests: 'i' 'o' installs, 's' switch, 'r' retire */
    unsigned n_order;
    unsigned connections;
};

/* Listens on a fresh temporary path. */
void fake_dataplane_start(struct fake_dataplane *d, struct evloop *loop);
void fake_dataplane_stop(struct fake_dataplane *d);
/* Closes the agent's connection; what it holds stays. */
void fake_dataplane_drop(struct fake_dataplane *d);
/* The same, as a crash: a new boot id and nothing held. */
void fake_dataplane_reboot(struct fake_dataplane *d);
void fake_dataplane_release(struct fake_dataplane *d);
void fake_dataplane_raw(struct fake_dataplane *d, const void *msg, size_t len);
/* An SA event on the SA of this direction; `type` DP_SA_FIRST_RX, DP_SA_SOFT_LIMIT or
 * DP_SA_EXPIRED. A first packet switches the tunnel's outbound SA of the same epoch, as the real
 * one does. */
void fake_dataplane_sa_event(struct fake_dataplane *d, enum dp_type type, const struct hw_id *link,
                             uint64_t epoch, unsigned tunnel, enum dp_direction direction);
/* Sets and tells a tunnel's state, unless it has it already. */
void fake_dataplane_tunnel(struct fake_dataplane *d, const struct hw_id *link, unsigned tunnel,
                           enum dp_tunnel_state state);
const struct fake_sa *fake_dataplane_find(const struct fake_dataplane *d, const struct hw_id *link,
                                          uint64_t epoch, unsigned tunnel,
                                          enum dp_direction direction);
unsigned fake_dataplane_count_sas(const struct fake_dataplane *d, const struct hw_id *link,
                                  uint64_t epoch, enum dp_direction direction);

#endif
