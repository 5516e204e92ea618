#include "agent/control/keying/acceptor.h"
#include "agent/control/keying/sockets.h"
#include "common/clock.h"
#include "common/log.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RETRY_NS         (5 * NS_PER_S)
#define PAUSE_NS         (100 * NS_PER_MS)
#define ACCEPTS_PER_TURN 16

struct waiting {
    struct acceptor *acceptor;
    struct conn *conn; /* NULL: free */
    struct ipaddr from;
    bool secured;
    struct hw_id gateway; /* once secured */
};

struct listener {
    struct acceptor *acceptor;
    unsigned family;
    int fd; /* −1: closed */
    struct ev_io *io;
};

struct acceptor {
    struct keying_core *core;
    const struct acceptor_handler *handler;
    void *arg;
    uint16_t port; /* 0: no config yet */
    struct listener listeners[2];
    struct ev_timer *timer;   /* opens again, or goes on accepting after a pause */
    struct ipaddr *addresses; /* of all peers */
    size_t n_addresses;
    bool anywhere; /* a peer is behind NAT: its address isn't known */
    struct waiting waiting[ACCEPTOR_WAITING_MAX];
};

/* ---- waiting connections ---- */

static void on_secured(void *arg, struct conn *c)
{
    struct waiting *w = arg;
    struct acceptor *a = w->acceptor;
    if (conn_peer_gateway(c, &w->gateway) != 0 || !a->handler->is_peer(a->arg, &w->gateway) ||
        denied_serial(&a->core->denied, conn_peer(c)->serial)) {
        a->core->counters.refused_peer++;
        log_warn_limited("keying connection refused: not a peer's certificate uri=%s serial=%s",
                         conn_peer(c)->uri, conn_peer(c)->serial);
        conn_close(c);
        w->conn = NULL;
        return;
    }
    w->secured = true;
}

static void on_message(void *arg, struct conn *c, const struct message *m, const uint8_t *raw,
                       size_t len)
{
    struct waiting *w = arg;
    struct acceptor *a = w->acceptor;
    w->conn = NULL;
    a->handler->first(a->arg, c, &w->gateway, m, raw, len);
}

static void on_closed(void *arg, struct conn *c, int code, const char *why)
{
    struct waiting *w = arg;
    struct keying_counters *counters = &w->acceptor->core->counters;
    (void)c;
    if (code == HW_ETIMEOUT)
        counters->timed_out++;
    else if (!w->secured)
        counters->handshake_failed++;
    else if (code == HW_EPROTO)
        counters->bad_message++;
    log_warn_limited("keying connection ended before its first message: %s", why);
    w->conn = NULL;
}

static const struct conn_handler waiting_conn = {on_secured, on_message, on_closed};

static struct waiting *free_place(struct acceptor *a)
{
    for (unsigned i = 0; i < ACCEPTOR_WAITING_MAX; i++)
        if (!a->waiting[i].conn)
            return &a->waiting[i];
    return NULL;
}

void acceptor_judge(struct acceptor *a)
{
    for (unsigned i = 0; i < ACCEPTOR_WAITING_MAX; i++) {
        struct waiting *w = &a->waiting[i];
        if (!w->conn || !w->secured)
            continue;
        if (!a->handler->is_peer(a->arg, &w->gateway) ||
            denied_serial(&a->core->denied, conn_peer(w->conn)->serial)) {
            a->core->counters.refused_peer++;
            conn_close(w->conn);
            w->conn = NULL;
        }
    }
}

/* ---- listening ---- */

static bool known_address(const struct acceptor *a, const struct ipaddr *from)
{
    if (a->anywhere)
        return true;
    for (size_t i = 0; i < a->n_addresses; i++)
        if (ipaddr_equal(&a->addresses[i], from))
            return true;
    return false;
}

/* One IPv6 host may speak from all of its /64 (RFC 4291 section 2.5.4). */
static bool same_source(const struct ipaddr *a, const struct ipaddr *b)
{
    return a->family == 6 && b->family == 6 ? memcmp(a->b, b->b, 8) == 0 : ipaddr_equal(a, b);
}

static unsigned waiting_from(const struct acceptor *a, const struct ipaddr *from)
{
    unsigned n = 0;
    for (unsigned i = 0; i < ACCEPTOR_WAITING_MAX; i++)
        n += a->waiting[i].conn && same_source(&a->waiting[i].from, from);
    return n;
}

static void take(struct acceptor *a, int fd, const struct ipaddr *from)
{
    struct keying_core *core = a->core;
    struct waiting *w = free_place(a);
    struct err e;
    char text[IPADDR_TEXT_MAX];
    if (!known_address(a, from)) {
        core->counters.refused_address++;
        log_warn_limited("keying connection refused: no peer's address from=%s",
                         ipaddr_text(from, text));
        (void)close(fd);
        return;
    }
    if (waiting_from(a, from) >= ACCEPTOR_ADDRESS_MAX) {
        core->counters.refused_crowd++;
        log_warn_limited("keying connection refused: %u of this address wait already from=%s",
                         ACCEPTOR_ADDRESS_MAX, ipaddr_text(from, text));
        (void)close(fd);
        return;
    }
    if (!w) {
        core->counters.refused_full++;
        (void)close(fd);
        return;
    }
    *w = (struct waiting){.acceptor = a, .from = *from};
    core->counters.accepted++;
    if (conn_accept(core->loop, core->server, core_now_s(core), fd, &waiting_conn, w, &w->conn,
                    &e) != 0) {
        w->conn = NULL;
        log_warn_limited("keying connection refused: %s", e.text);
    }
}

/* Out of descriptors: the waiting connection would wake the loop again at once. */
static void pause_listening(struct acceptor *a)
{
    a->core->counters.paused++;
    for (unsigned i = 0; i < 2; i++)
        if (a->listeners[i].io)
            evloop_io_events(a->listeners[i].io, 0);
    evloop_timer_arm(a->timer, PAUSE_NS);
}

static void on_connect(void *arg, int fd, unsigned events)
{
    struct listener *l = arg;
    struct ipaddr from;
    struct err e;
    (void)events;
    for (unsigned i = 0; i < ACCEPTS_PER_TURN; i++) {
        int got = sockets_accept(fd, &from, &e);
        if (got == HW_ENOMEM) {
            log_warn_limited("%s", e.text);
            pause_listening(l->acceptor);
        }
        if (got < 0)
            return;
        take(l->acceptor, got, &from);
    }
}

static void close_listener(struct listener *l)
{
    evloop_io_remove(l->io);
    l->io = NULL;
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
}

static int open_listener(struct listener *l, struct err *e)
{
    struct acceptor *a = l->acceptor;
    l->fd = sockets_listen(l->family, a->port, e);
    if (l->fd < 0) {
        int rc = l->fd;
        l->fd = -1;
        return rc;
    }
    l->io = evloop_io_add(a->core->loop, l->fd, EV_READ, on_connect, l);
    if (!l->io) {
        close_listener(l);
        return err_set(e, HW_ENOMEM, "watch TCP port %u", a->port);
    }
    return 0;
}

/* One of the families is enough: a machine may have no IPv6. */
static int open_listeners(struct acceptor *a, struct err *e)
{
    unsigned open = 0;
    if (a->port == 0 || !a->core->server)
        return 0;
    for (unsigned i = 0; i < 2; i++) {
        struct listener *l = &a->listeners[i];
        if (l->fd >= 0)
            evloop_io_events(l->io, EV_READ);
        open += l->fd >= 0 || open_listener(l, e) == 0;
    }
    if (open > 0)
        return 0;
    evloop_timer_arm(a->timer, RETRY_NS);
    return e->code;
}

void acceptor_poll(struct acceptor *a)
{
    struct err e;
    if (open_listeners(a, &e) != 0)
        log_warn_limited("cannot listen for keying: %s", e.text);
}

static void on_timer(void *arg)
{
    acceptor_poll(arg);
}

/* ---- life ---- */

int acceptor_new(struct keying_core *core, const struct acceptor_handler *handler, void *arg,
                 struct acceptor **out, struct err *e)
{
    struct acceptor *a = calloc(1, sizeof *a);
    if (a)
        a->timer = evloop_timer_add(core->loop, on_timer, a);
    if (!a || !a->timer) {
        free(a);
        return err_set(e, HW_ENOMEM, "keying listener: out of memory");
    }
    a->core = core;
    a->handler = handler;
    a->arg = arg;
    a->listeners[0] = (struct listener){.acceptor = a, .family = 4, .fd = -1};
    a->listeners[1] = (struct listener){.acceptor = a, .family = 6, .fd = -1};
    *out = a;
    return 0;
}

void acceptor_free(struct acceptor *a)
{
    if (!a)
        return;
    for (unsigned i = 0; i < ACCEPTOR_WAITING_MAX; i++)
        conn_close(a->waiting[i].conn);
    close_listener(&a->listeners[0]);
    close_listener(&a->listeners[1]);
    evloop_timer_remove(a->timer);
    free(a->addresses);
    free(a);
}

static int take_addresses(struct acceptor *a, const struct gateway_config *config, struct err *e)
{
    size_t cap = config->n_links + config->n_peers * HW_ENDPOINTS_MAX;
    struct ipaddr *addresses = calloc(cap + 1, sizeof *addresses);
    if (!addresses)
        return err_set(e, HW_ENOMEM, "keying listener: out of memory");
    size_t n = 0;
    for (size_t i = 0; i < config->n_peers; i++)
        for (size_t j = 0; j < config->peers[i].n_endpoints; j++)
            addresses[n++] = config->peers[i].endpoints[j];
    a->anywhere = false;
    for (size_t i = 0; i < config->n_links; i++) {
        addresses[n++] = config->links[i].remote;
        a->anywhere |= !config->links[i].dial;
    }
    free(a->addresses);
    a->addresses = addresses;
    a->n_addresses = n;
    return 0;
}

int acceptor_set_config(struct acceptor *a, const struct gateway_config *config, struct err *e)
{
    int rc = take_addresses(a, config, e);
    if (rc != 0)
        return rc;
    if (a->port != config->port_base) {
        close_listener(&a->listeners[0]);
        close_listener(&a->listeners[1]);
        a->port = config->port_base;
    }
    acceptor_judge(a);
    struct err local;
    return open_listeners(a, e ? e : &local);
}
