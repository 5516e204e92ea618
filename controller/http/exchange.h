/* Inside of http/server.c, parking.c and head.c: connections, requests under way, and the server
 * that holds them. These files alone deal with libmicrohttpd. */
#ifndef HAWSER_CONTROLLER_HTTP_EXCHANGE_H
#define HAWSER_CONTROLLER_HTTP_EXCHANGE_H

#include "controller/http/head.h"
#include "controller/http/server.h"
#include <microhttpd.h>
#include <pthread.h>

#define TICKET_HEAD 4096

/* One TCP connection, from its acceptance to its CLOSED notice. Under server.lock, where
 * nothing else is said. */
struct conn {
    struct conn *prev, *next;
    struct listener *listener;
    int fd;
    uint64_t deadline_ns; /* cut then; 0: none (parked) */
    bool cut;
    bool had_request;
    struct head_line line; /* of the request under way; the daemon's thread alone */
};

enum exchange_state { RUNNING, PARKED };

/* One request and its answer. state, wake, gone: under server.lock; the rest: the daemon's thread.
 */
struct exchange {
    struct exchange *chain; /* of the ticket table */
    struct http_request req;
    struct http_response res;
    struct conn *conn;
    struct MHD_Connection *mhd;
    char *body; /* of body_cap bytes and a NUL, made whole at once: no copies to wipe elsewhere */
    size_t body_len, body_cap, body_max;
    enum exchange_state state;
    bool wake;        /* woken while running: don't suspend */
    bool gone;        /* the client left while parked */
    bool broken_head; /* nothing after it can be trusted to be where it should be */
};

/* One bound address with its own libmicrohttpd daemon. */
struct listener {
    struct http_server *server;
    enum http_listener kind;
    int fd; /* owned by the daemon once it runs */
    struct MHD_Daemon *daemon;
};

struct http_server {
    struct http_server_config config;
    struct listener listeners[HTTP_LISTENERS * HTTP_LISTEN_MAX];
    size_t n_listeners;

    pthread_mutex_t lock;
    struct conn *conns;
    struct exchange *tickets[TICKET_HEAD];
    uint64_t next_ticket;
    size_t running; /* exchanges alive */
    bool stopping;
    struct http_server_counters counters[HTTP_LISTENERS];
    size_t parked;

    pthread_t watcher;
    bool watcher_runs;
    int epoll_fd; /* disconnects of parked connections, by ticket; ticket 0 is stop_fd */
    int stop_fd;
};

#endif
