#include "agent/dataplane/dp_server.h"

#include "common/log.h"
#include "common/secret.h"
#include "common/unixsock.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Beyond this an agent that does not read is cut off; it asks for a dump when it is back. A dump of
 * all tunnels is about 4 MiB. */
#define QUEUE_MAX (32u << 20)

/* Messages read in one turn of the loop, so that events are not starved. */
#define READS_PER_TURN 64

struct queued {
    struct queued *next;
    size_t len;
    uint8_t data[];
};

struct dp_server {
    struct evloop *loop;
    struct engine *en;
    struct dp_server_options o;
    struct ev_io *listen_io, *event_io;
    int fd; /* the agent; −1: none */
    struct ev_io *io;
    struct queued *first, **last; /* not yet sent */
    size_t queued;
    _Alignas(8) uint8_t msg[DP_MSG_MAX]; /* being worked on; wiped after use */
};

/* ---- sending ---- */

static void drop_queue(struct dp_server *s)
{
    while (s->first != NULL) {
        struct queued *q = s->first;
        s->first = q->next;
        free(q);
    }
    s->last = &s->first;
    s->queued = 0;
}

static void disconnect(struct dp_server *s)
{
    if (s->fd < 0)
        return;
    evloop_io_remove(s->io);
    close(s->fd);
    s->fd = -1;
    s->io = NULL;
    drop_queue(s);
}

static void enqueue(struct dp_server *s, const void *msg, size_t len)
{
    struct queued *q = s->queued + len <= QUEUE_MAX ? malloc(sizeof *q + len) : NULL;
    if (q == NULL) {
        log_warn("agent does not read, closing its connection");
        disconnect(s);
        return;
    }
    q->next = NULL;
    q->len = len;
    memcpy(q->data, msg, len);
    *s->last = q;
    s->last = &q->next;
    s->queued += len;
    evloop_io_events(s->io, EV_READ | EV_WRITE);
}

static void flush_queue(struct dp_server *s)
{
    struct err e = {0};
    while (s->first != NULL) {
        struct queued *q = s->first;
        int rc = unixsock_send(s->fd, q->data, q->len, NULL, 0, &e);
        if (rc == HW_EAGAIN)
            return;
        if (rc != 0) {
            disconnect(s);
            return;
        }
        s->queued -= q->len;
        s->first = q->next;
        free(q);
    }
    s->last = &s->first;
    evloop_io_events(s->io, EV_READ);
}

/* Whole messages only, in order: what the socket does not take now waits. */
static void send_message(struct dp_server *s, enum dp_type type, uint32_t seq, const void *body,
                         size_t len)
{
    if (s->fd < 0)
        return;
    struct {
        struct dp_header h;
        uint8_t body[256];
    } m;
    dp_header_init(&m.h, type, seq, (uint32_t)len);
    if (len != 0)
        memcpy(m.body, body, len);
    struct err e = {0};
    int rc = s->first == NULL ? unixsock_send(s->fd, &m, sizeof m.h + len, NULL, 0, &e) : HW_EAGAIN;
    if (rc == HW_EAGAIN)
        enqueue(s, &m, sizeof m.h + len);
    else if (rc != 0)
        disconnect(s);
}

static void send_ack(struct dp_server *s, uint32_t seq, int status, const struct err *e)
{
    struct dp_ack a = {.status = status};
    if (status != 0)
        memcpy(a.text, e->text, strnlen(e->text, sizeof a.text - 1));
    send_message(s, DP_ACK, seq, &a, sizeof a);
}

static int send_hello(struct dp_server *s, struct err *e)
{
    struct {
        struct dp_header h;
        struct dp_hello body;
    } m;
    dp_header_init(&m.h, DP_HELLO, 0, sizeof m.body);
    engine_hello(s->en, s->o.features, &m.body);
    int fd = engine_stats_fd(s->en);
    return unixsock_send(s->fd, &m, sizeof m, &fd, 1, e);
}

struct emit_ctx {
    struct dp_server *s;
    uint32_t seq;
};

static void emit(void *ctx, enum dp_type type, const void *body, size_t len)
{
    const struct emit_ctx *c = ctx;
    send_message(c->s, type, c->seq, body, len);
}

/* ---- requests ---- */

static int on_attach_tun(struct dp_server *s, const void *body, int fd, struct err *e)
{
    return engine_attach_tun(s->en, body, fd, e);
}
static int on_attach_udp(struct dp_server *s, const void *body, int fd, struct err *e)
{
    return engine_attach_udp(s->en, body, fd, e);
}
static int on_node_set(struct dp_server *s, const void *body, int fd, struct err *e)
{
    (void)fd;
    return engine_node_set(s->en, body, e);
}
static int on_link_set(struct dp_server *s, const void *body, int fd, struct err *e)
{
    (void)fd;
    return engine_link_set(s->en, body, e);
}
static int on_link_remove(struct dp_server *s, const void *body, int fd, struct err *e)
{
    (void)fd;
    const struct dp_link_remove *m = body;
    return engine_link_remove(s->en, &m->link, e);
}
static int on_sa_install(struct dp_server *s, const void *body, int fd, struct err *e)
{
    (void)fd;
    return engine_sa_install(s->en, body, e);
}
static int on_sa_switch(struct dp_server *s, const void *body, int fd, struct err *e)
{
    (void)fd;
    return engine_sa_switch(s->en, body, e);
}
static int on_sa_retire(struct dp_server *s, const void *body, int fd, struct err *e)
{
    (void)fd;
    return engine_sa_retire(s->en, body, e);
}
static int on_fib_commit(struct dp_server *s, const void *body, int fd, struct err *e)
{
    return engine_fib_commit(s->en, body, fd, e);
}

/* By type; each takes over the descriptor if its message has one (dp_validate has counted them). */
static int (*const requests[])(struct dp_server *s, const void *body, int fd, struct err *e) = {
    [DP_ATTACH_TUN] = on_attach_tun,   [DP_ATTACH_UDP] = on_attach_udp,
    [DP_NODE_SET] = on_node_set,       [DP_LINK_SET] = on_link_set,
    [DP_LINK_REMOVE] = on_link_remove, [DP_SA_INSTALL] = on_sa_install,
    [DP_SA_SWITCH] = on_sa_switch,     [DP_SA_RETIRE] = on_sa_retire,
    [DP_FIB_COMMIT] = on_fib_commit,
};

static void handle_dump(struct dp_server *s, uint32_t seq)
{
    struct emit_ctx c = {.s = s, .seq = seq};
    struct err e = {0};
    if (engine_dump(s->en, emit, &c, &e) != 0) {
        log_error("dump: %s", e.text);
        disconnect(s);
        return;
    }
    send_message(s, DP_DUMP_END, seq, NULL, 0);
}

static void handle(struct dp_server *s, const struct dp_header *h, int fd)
{
    if (h->type == DP_DUMP) {
        handle_dump(s, h->seq);
        return;
    }
    if (h->type == DP_QUIESCE) {
        log_info("told to end");
        evloop_stop(s->loop);
        return;
    }
    struct err e = {0};
    int rc = requests[h->type](s, s->msg + sizeof *h, fd, &e);
    if (rc != 0)
        log_warn("%s refused: %s", dp_type_name(h->type), e.text);
    send_ack(s, h->seq, rc, &e);
}

/* What does not pass the check is answered if it can be: the agent's fault must be seen by the
 * agent. */
static void refuse(struct dp_server *s, size_t len, const int *fds, int n_fds, const struct err *e)
{
    for (int i = 0; i < n_fds; i++)
        close(fds[i]);
    log_warn("agent's message refused: %s", e->text);
    struct dp_header h;
    memset(&h, 0, sizeof h);
    if (len >= sizeof h)
        memcpy(&h, s->msg, sizeof h);
    if (h.seq == 0)
        disconnect(s);
    else
        send_ack(s, h.seq, HW_EPROTO, e);
}

/* False: nothing more to read now. */
static bool read_one(struct dp_server *s)
{
    struct err e = {0};
    int fds[UNIXSOCK_FDS_MAX], n_fds = UNIXSOCK_FDS_MAX;
    ssize_t n = unixsock_recv(s->fd, s->msg, sizeof s->msg, fds, &n_fds, &e);
    if (n == HW_EAGAIN)
        return false;
    if (n <= 0 && n != HW_ETOOBIG) {
        log_info("agent left");
        disconnect(s);
        return false;
    }
    if (n < 0 || dp_validate(s->msg, (size_t)n, n_fds, 1, &e) != 0) {
        refuse(s, n < 0 ? 0 : (size_t)n, fds, n < 0 ? 0 : n_fds, &e);
    } else {
        struct dp_header h;
        memcpy(&h, s->msg, sizeof h);
        handle(s, &h, n_fds == 1 ? fds[0] : -1);
    }
    secret_wipe(s->msg, n < 0 ? sizeof s->msg : (size_t)n);
    return s->fd >= 0;
}

static void on_agent(void *arg, int fd, unsigned events)
{
    struct dp_server *s = arg;
    (void)fd;
    if (events & EV_WRITE)
        flush_queue(s);
    for (int i = 0; i < READS_PER_TURN && s->fd >= 0; i++) {
        if (!read_one(s))
            return;
    }
}

static void on_events(void *arg, int fd, unsigned events)
{
    struct dp_server *s = arg;
    (void)fd;
    (void)events;
    struct emit_ctx c = {.s = s, .seq = 0};
    engine_events(s->en, emit, &c);
}

/* ---- connections ---- */

void dp_server_adopt(struct dp_server *s, int fd)
{
    struct err e = {0};
    uid_t uid = (uid_t)-1;
    if (unixsock_peer(fd, &uid, NULL, NULL, &e) != 0 || uid != s->o.agent_uid) {
        log_warn_limited("connection of uid %u refused", (unsigned)uid);
        close(fd);
        return;
    }
    disconnect(s);
    s->fd = fd;
    s->io = evloop_io_add(s->loop, fd, EV_READ, on_agent, s);
    if (s->io == NULL) {
        close(fd);
        s->fd = -1;
        return;
    }
    if (send_hello(s, &e) != 0) {
        log_warn("hello: %s", e.text);
        disconnect(s);
        return;
    }
    log_info("agent connected");
    engine_retell(s->en);
}

static void on_listen(void *arg, int fd, unsigned events)
{
    struct dp_server *s = arg;
    (void)events;
    struct err e = {0};
    int conn = unixsock_accept(fd, &e);
    if (conn >= 0)
        dp_server_adopt(s, conn);
    else if (conn != HW_EAGAIN)
        log_warn_limited("accept: %s", e.text);
}

int dp_server_new(struct evloop *loop, struct engine *en, const struct dp_server_options *o,
                  struct dp_server **out, struct err *e)
{
    struct dp_server *s = calloc(1, sizeof *s);
    if (s == NULL)
        return err_set(e, HW_ENOMEM, "out of memory");
    s->loop = loop;
    s->en = en;
    s->o = *o;
    s->fd = -1;
    s->last = &s->first;
    s->event_io = evloop_io_add(loop, engine_event_fd(en), EV_READ, on_events, s);
    if (o->listen_fd >= 0)
        s->listen_io = evloop_io_add(loop, o->listen_fd, EV_READ, on_listen, s);
    if (s->event_io == NULL || (o->listen_fd >= 0 && s->listen_io == NULL)) {
        dp_server_free(s);
        return err_set(e, HW_EFAIL, "watch the agent's socket");
    }
    *out = s;
    return 0;
}

void dp_server_free(struct dp_server *s)
{
    if (s == NULL)
        return;
    disconnect(s);
    if (s->event_io != NULL)
        evloop_io_remove(s->event_io);
    if (s->listen_io != NULL)
        evloop_io_remove(s->listen_io);
    secret_wipe(s, sizeof *s);
    free(s);
}
