/*
 * The agent's end of the seam to hawser-dataplane (common/dp_proto.h), on the agent's event loop.
 *
 * Connects to the dataplane's socket, checks which user listens there, takes its HELLO, and then
 * carries requests with completions and events. A lost connection is made anew for ever, after a
 * short back-off; requests outstanding at that moment complete with HW_ECLOSED. Nothing is sent
 * again by itself: what the dataplane holds after a new connection is learned by dp_client_dump().
 *
 * Everything runs on the loop's thread. Callbacks may call any function here except
 * dp_client_free().
 */
#ifndef HAWSER_AGENT_CONTROL_DP_CLIENT_H
#define HAWSER_AGENT_CONTROL_DP_CLIENT_H

#include "common/dp_proto.h"
#include "common/err.h"
#include "common/evloop.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dp_client;

/* One event of the dataplane; `type` says which member holds it. */
struct dp_event {
    enum dp_type type;
    union {
        struct dp_tunnel_event tunnel; /* DP_TUNNEL_STATE */
        struct dp_sa_event sa;         /* DP_SA_FIRST_RX, DP_SA_SOFT_LIMIT, DP_SA_EXPIRED */
        struct dp_peer_moved moved;    /* DP_PEER_MOVED */
    };
};

struct dp_client_handler {
    /* HELLO has come. `new_boot`: not the dataplane process that this client spoke to last (true
     * also for the client's first connection). */
    void (*connected)(void *arg, const struct dp_hello *hello, bool new_boot);
    /* The connection is gone, or was never made (then it is called once, not for every attempt). */
    void (*lost)(void *arg, const char *why);
    void (*event)(void *arg, const struct dp_event *event);
};

/* Starts connecting at the loop's next turn. `dataplane_uid`: the user that must be at the other
 * end. */
int dp_client_new(struct evloop *loop, const char *path, uid_t dataplane_uid,
                  const struct dp_client_handler *handler, void *arg, struct dp_client **out,
                  struct err *e);
/* Closes the connection; outstanding requests complete with HW_ECLOSED first. */
void dp_client_free(struct dp_client *c);

bool dp_client_connected(const struct dp_client *c);
/* What ended the last attempt or connection. */
const char *dp_client_why(const struct dp_client *c);
/* Of the present connection; NULL without one. */
const struct dp_hello *dp_client_hello(const struct dp_client *c);
/* The counters' memfd of the present connection (dp_stats.h); −1 without one. Stays the client's.
 */
int dp_client_counters_fd(const struct dp_client *c);

/* `status`: 0, the enum hw_err of the dataplane's ACK, or HW_ECLOSED. `text`: why not, or "". */
typedef void (*dp_ack_fn)(void *arg, int status, const char *text);

/*
 * Sends one request (every agent-to-dataplane type except DP_DUMP); `fd` −1 when the type carries
 * none. Body and fd stay the caller's: the body is copied, and the client's copy is wiped once
 * sent; the fd is duplicated. Requests leave in the order of the calls; a full socket buffer only
 * delays them. `done` may be NULL; it is called once, never from inside this call. DP_QUIESCE has
 * no ACK: its `done` gets HW_ECLOSED. A negative code (then `done` is never called): HW_ECLOSED
 * without a connection, HW_EPROTO for a malformed body, HW_ENOMEM.
 */
int dp_client_request(struct dp_client *c, enum dp_type type, const void *body, uint32_t body_len,
                      int fd, dp_ack_fn done, void *arg, struct err *e);

/* All that the dataplane holds, as of one moment between two requests. */
struct dp_dump {
    struct dp_dump_tun *tuns;
    size_t n_tuns;
    struct dp_attach_udp *udps;
    size_t n_udps;
    bool has_node;
    struct dp_node_set node;
    struct dp_dump_link *links;
    size_t n_links;
    struct dp_dump_sa *sas;
    size_t n_sas;
    struct dp_dump_fib fib;
};

/* `dump` is NULL when status is not 0; it lives until the callback returns. */
typedef void (*dp_dump_fn)(void *arg, int status, const struct dp_dump *dump);

/* Asks for a dump; one at a time (HW_EAGAIN while one is outstanding). */
int dp_client_dump(struct dp_client *c, dp_dump_fn done, void *arg, struct err *e);

#endif
