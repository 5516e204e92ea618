#include "agent/control/dp_client.h"
#include "common/log.h"
#include "common/secret.h"
#include "common/unixsock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACKOFF_FIRST_NS (20 * 1000000ull)
#define BACKOFF_MAX_NS   (500 * 1000000ull)
#define HELLO_WAIT_NS    (5 * 1000000000ull)
/* Messages taken in one turn of the loop, so that a talkative dataplane does not starve timers. */
#define RECV_BUDGET 256
/* More entries of one kind than a dataplane within its limits can hold end the dump. */
#define DUMP_ENTRIES_MAX (HW_TUNNELS_MAX * 8u)

/* Kept until its ACK; `msg` only until it is sent. */
struct request {
    struct request *next;
    enum dp_type type;
    uint32_t seq;
    uint8_t *msg;
    uint32_t len;
    int fd;
    dp_ack_fn done;
    void *arg;
};

struct dump_job {
    bool active;
    uint32_t seq;
    dp_dump_fn done;
    void *arg;
    struct dp_dump dump;
    size_t cap_tuns, cap_udps, cap_links, cap_sas;
};

struct dp_client {
    struct evloop *loop;
    char *path;
    uid_t uid;
    const struct dp_client_handler *handler;
    void *arg;

    int fd; /* −1: not connected */
    struct ev_io *io;
    struct ev_timer *timer; /* next attempt, HELLO's deadline, or a failure found while sending */
    bool up;                /* HELLO taken */
    bool broken;            /* a send failed: the connection is given up at the next turn */
    bool told_lost;
    char why[ERR_TEXT_MAX]; /* of the last loss */
    uint64_t backoff_ns;
    struct dp_hello hello; /* of the present connection; its boot id stays after a loss */
    bool has_boot;
    int counters_fd;

    uint32_t next_seq;
    struct request *head, **tail; /* in the order of sending */
    struct request *unsent;       /* first that still waits for room */
    struct dump_job dump;
    uint8_t buf[DP_MSG_MAX];
};

/* ---- requests ---- */

static void drop_message(struct request *r)
{
    if (r->msg) {
        secret_wipe(r->msg, r->len);
        free(r->msg);
        r->msg = NULL;
    }
    if (r->fd >= 0)
        (void)close(r->fd);
    r->fd = -1;
}

static uint32_t take_seq(struct dp_client *c)
{
    uint32_t seq = c->next_seq++;
    if (c->next_seq == 0)
        c->next_seq = 1;
    return seq;
}

/* Sends what waits, as far as the socket takes it. A hard error only marks the connection: it is
 * given up by the timer's handler, so that no completion runs inside a caller's request. */
static void flush_queue(struct dp_client *c)
{
    while (c->unsent) {
        struct request *r = c->unsent;
        struct err e;
        int rc = unixsock_send(c->fd, r->msg, r->len, &r->fd, r->fd >= 0 ? 1 : 0, &e);
        if (rc == HW_EAGAIN) {
            evloop_io_events(c->io, EV_READ | EV_WRITE);
            return;
        }
        if (rc != 0) {
            c->broken = true;
            evloop_timer_arm(c->timer, 0);
            return;
        }
        c->unsent = r->next;
        drop_message(r);
    }
    evloop_io_events(c->io, EV_READ);
}

static struct request *request_new(enum dp_type type, uint32_t seq, const void *body,
                                   uint32_t body_len, int fd)
{
    struct request *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->type = type;
    r->seq = seq;
    r->fd = -1;
    r->len = (uint32_t)sizeof(struct dp_header) + body_len;
    r->msg = malloc(r->len);
    if (fd >= 0)
        r->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (!r->msg || (fd >= 0 && r->fd < 0)) {
        drop_message(r);
        free(r);
        return NULL;
    }
    struct dp_header h;
    dp_header_init(&h, type, seq, body_len);
    memcpy(r->msg, &h, sizeof h);
    if (body_len)
        memcpy(r->msg + sizeof h, body, body_len);
    return r;
}

static void enqueue(struct dp_client *c, struct request *r)
{
    *c->tail = r;
    c->tail = &r->next;
    if (!c->unsent) {
        c->unsent = r;
        flush_queue(c);
    }
}

static int request_make(struct dp_client *c, enum dp_type type, const void *body, uint32_t body_len,
                        int fd, struct request **out, struct err *e)
{
    if (!c->up || c->broken)
        return err_set(e, HW_ECLOSED, "no connection to the dataplane");
    if (body_len > DP_MSG_MAX - sizeof(struct dp_header))
        return err_set(e, HW_EPROTO, "message %s too long", dp_type_name(type));
    struct request *r = request_new(type, take_seq(c), body, body_len, fd);
    if (!r)
        return err_set(e, HW_ENOMEM, "message %s: out of memory or descriptors",
                       dp_type_name(type));
    int rc = dp_validate(r->msg, r->len, fd >= 0 ? 1 : 0, 1, e);
    if (rc != 0) {
        drop_message(r);
        free(r);
        return rc;
    }
    *out = r;
    return 0;
}

int dp_client_request(struct dp_client *c, enum dp_type type, const void *body, uint32_t body_len,
                      int fd, dp_ack_fn done, void *arg, struct err *e)
{
    if (type == DP_DUMP)
        return err_set(e, HW_EINVAL, "a dump is asked for by dp_client_dump");
    struct request *r;
    int rc = request_make(c, type, body, body_len, fd, &r, e);
    if (rc != 0)
        return rc;
    r->done = done;
    r->arg = arg;
    enqueue(c, r);
    return 0;
}

/* Unlinks the sent request with this number; NULL when there is none. */
static struct request *take_request(struct dp_client *c, uint32_t seq)
{
    for (struct request **p = &c->head; *p && *p != c->unsent; p = &(*p)->next) {
        struct request *r = *p;
        if (r->seq != seq)
            continue;
        *p = r->next;
        if (c->tail == &r->next)
            c->tail = p;
        return r;
    }
    return NULL;
}

/* ---- dump ---- */

static void dump_reset(struct dump_job *d)
{
    free(d->dump.tuns);
    free(d->dump.udps);
    free(d->dump.links);
    free(d->dump.sas);
    *d = (struct dump_job){0};
}

int dp_client_dump(struct dp_client *c, dp_dump_fn done, void *arg, struct err *e)
{
    if (c->dump.active)
        return err_set(e, HW_EAGAIN, "a dump is under way");
    struct request *r;
    int rc = request_make(c, DP_DUMP, NULL, 0, -1, &r, e);
    if (rc != 0)
        return rc;
    c->dump = (struct dump_job){.active = true, .seq = r->seq, .done = done, .arg = arg};
    enqueue(c, r);
    return 0;
}

static int dump_add(void **array, size_t *n, size_t *cap, const void *body, size_t size,
                    struct err *e)
{
    if (*n == DUMP_ENTRIES_MAX)
        return err_set(e, HW_EPROTO, "dump without end");
    if (*n == *cap) {
        size_t new_cap = *cap ? *cap * 2 : 64;
        void *grown = realloc(*array, new_cap * size);
        if (!grown)
            return err_set(e, HW_ENOMEM, "dump: out of memory");
        *array = grown;
        *cap = new_cap;
    }
    memcpy((uint8_t *)*array + *n * size, body, size);
    (*n)++;
    return 0;
}

static void dump_finish(struct dp_client *c, int status)
{
    struct dump_job job = c->dump;
    c->dump = (struct dump_job){0};
    if (job.active)
        job.done(job.arg, status, status == 0 ? &job.dump : NULL);
    dump_reset(&job);
}

static int on_dump(struct dp_client *c, const struct dp_header *h, const void *body, struct err *e)
{
    struct dump_job *j = &c->dump;
    struct dp_dump *d = &j->dump;
    if (!j->active || h->seq != j->seq)
        return err_set(e, HW_EPROTO, "%s that nobody asked for", dp_type_name(h->type));
    switch (h->type) {
    case DP_DUMP_TUN:
        return dump_add((void **)&d->tuns, &d->n_tuns, &j->cap_tuns, body, sizeof *d->tuns, e);
    case DP_DUMP_UDP:
        return dump_add((void **)&d->udps, &d->n_udps, &j->cap_udps, body, sizeof *d->udps, e);
    case DP_DUMP_LINK:
        return dump_add((void **)&d->links, &d->n_links, &j->cap_links, body, sizeof *d->links, e);
    case DP_DUMP_SA:
        return dump_add((void **)&d->sas, &d->n_sas, &j->cap_sas, body, sizeof *d->sas, e);
    case DP_DUMP_NODE:
        d->has_node = true;
        memcpy(&d->node, body, sizeof d->node);
        return 0;
    case DP_DUMP_FIB:
        memcpy(&d->fib, body, sizeof d->fib);
        return 0;
    default: { /* DP_DUMP_END: the request has no ACK, it ends here */
        free(take_request(c, h->seq));
        dump_finish(c, 0);
        return 0;
    }
    }
}

/* ---- messages ---- */

static int on_hello(struct dp_client *c, const void *body, int fd, struct err *e)
{
    struct dp_hello hello;
    memcpy(&hello, body, sizeof hello);
    if (c->up)
        return err_set(e, HW_EPROTO, "a second hello");
    bool new_boot = !c->has_boot || !id_equal(&hello.boot, &c->hello.boot);
    c->hello = hello;
    c->has_boot = true;
    c->counters_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (c->counters_fd < 0)
        return err_errno(e, errno, "keep the counters");
    c->up = true;
    c->told_lost = false;
    c->backoff_ns = BACKOFF_FIRST_NS;
    evloop_timer_disarm(c->timer);
    c->handler->connected(c->arg, &c->hello, new_boot);
    return 0;
}

static int on_ack(struct dp_client *c, const struct dp_header *h, const void *body, struct err *e)
{
    struct dp_ack ack;
    memcpy(&ack, body, sizeof ack);
    struct request *r = take_request(c, h->seq);
    if (!r)
        return err_set(e, HW_EPROTO, "an ack of number %u, which nobody waits for", h->seq);
    if (r->type == DP_DUMP && c->dump.active && c->dump.seq == r->seq)
        dump_finish(c, ack.status ? ack.status : HW_EPROTO);
    if (r->done)
        r->done(r->arg, ack.status, ack.text);
    free(r);
    return 0;
}

static void on_event(struct dp_client *c, const struct dp_header *h, const void *body)
{
    struct dp_event ev = {.type = (enum dp_type)h->type};
    if (ev.type == DP_TUNNEL_STATE)
        memcpy(&ev.tunnel, body, sizeof ev.tunnel);
    else if (ev.type == DP_PEER_MOVED)
        memcpy(&ev.moved, body, sizeof ev.moved);
    else
        memcpy(&ev.sa, body, sizeof ev.sa);
    c->handler->event(c->arg, &ev);
}

/* One message that passed dp_validate(). */
static int dispatch(struct dp_client *c, const uint8_t *msg, int fd, struct err *e)
{
    struct dp_header h;
    memcpy(&h, msg, sizeof h);
    const void *body = msg + sizeof h;
    if (h.type == DP_HELLO)
        return on_hello(c, body, fd, e);
    if (!c->up)
        return err_set(e, HW_EPROTO, "%s before hello", dp_type_name(h.type));
    if (h.type == DP_ACK)
        return on_ack(c, &h, body, e);
    if (h.type >= DP_DUMP_TUN && h.type <= DP_DUMP_END)
        return on_dump(c, &h, body, e);
    on_event(c, &h, body);
    return 0;
}

/* Takes one message: 0, HW_EAGAIN when none waits, or why the connection has to end. */
static int receive_one(struct dp_client *c, struct err *e)
{
    int fds[UNIXSOCK_FDS_MAX];
    int n_fds = UNIXSOCK_FDS_MAX;
    ssize_t n = unixsock_recv(c->fd, c->buf, sizeof c->buf, fds, &n_fds, e);
    if (n == 0)
        return err_set(e, HW_ECLOSED,
                       c->up ? "the dataplane closed the connection"
                             : "the dataplane refuses this user; agent_user in dataplane.json?");
    if (n < 0)
        return (int)n;
    int rc = dp_validate(c->buf, (size_t)n, n_fds, 0, e);
    if (rc == 0)
        rc = dispatch(c, c->buf, n_fds > 0 ? fds[0] : -1, e);
    for (int i = 0; i < n_fds; i++)
        (void)close(fds[i]);
    return rc;
}

/* ---- connection ---- */

static void fail_requests(struct dp_client *c)
{
    struct request *list = c->head;
    c->head = c->unsent = NULL;
    c->tail = &c->head;
    dump_finish(c, HW_ECLOSED);
    while (list) {
        struct request *r = list;
        list = r->next;
        drop_message(r);
        if (r->done)
            r->done(r->arg, HW_ECLOSED, "connection to the dataplane lost");
        free(r);
    }
}

static void disconnect(struct dp_client *c)
{
    evloop_io_remove(c->io);
    c->io = NULL;
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
    if (c->counters_fd >= 0)
        (void)close(c->counters_fd);
    c->counters_fd = -1;
    c->up = false;
    c->broken = false;
    secret_wipe(c->buf, sizeof c->buf);
    fail_requests(c);
}

/* Ends this attempt or connection, tells the owner once, and arms the next attempt. Why an attempt
 * fails may change while the dataplane is away (no socket at first, then a refusal): the log has
 * each such change.
 */
static void lose(struct dp_client *c, const char *why)
{
    disconnect(c);
    evloop_timer_arm(c->timer, c->backoff_ns);
    c->backoff_ns = c->backoff_ns * 2 > BACKOFF_MAX_NS ? BACKOFF_MAX_NS : c->backoff_ns * 2;
    if (c->told_lost && strcmp(c->why, why) != 0)
        log_warn_limited("dataplane still away: %s", why);
    (void)snprintf(c->why, sizeof c->why, "%s", why);
    if (!c->told_lost) {
        c->told_lost = true;
        c->handler->lost(c->arg, why);
    }
}

static void on_io(void *arg, int fd, unsigned events)
{
    struct dp_client *c = arg;
    (void)fd;
    struct err e;
    if (events & EV_WRITE)
        flush_queue(c);
    for (int i = 0; i < RECV_BUDGET; i++) {
        int rc = receive_one(c, &e);
        if (rc == HW_EAGAIN)
            return;
        if (rc != 0) {
            lose(c, e.text);
            return;
        }
    }
}

static int try_connect(struct dp_client *c, struct err *e)
{
    int fd = unixsock_connect(c->path, e);
    if (fd < 0)
        return fd;
    c->fd = fd;
    uid_t uid;
    gid_t gid;
    pid_t pid;
    int rc = unixsock_peer(fd, &uid, &gid, &pid, e);
    if (rc != 0)
        return rc;
    if (uid != c->uid)
        return err_set(e, HW_EAUTH, "user %u listens on %s, not user %u", (unsigned)uid, c->path,
                       (unsigned)c->uid);
    c->io = evloop_io_add(c->loop, fd, EV_READ, on_io, c);
    if (!c->io)
        return err_set(e, HW_ENOMEM, "watch the dataplane's socket");
    evloop_timer_arm(c->timer, HELLO_WAIT_NS);
    return 0;
}

static void on_timer(void *arg)
{
    struct dp_client *c = arg;
    struct err e;
    if (c->broken) {
        lose(c, "sending to the dataplane failed");
    } else if (c->fd >= 0) {
        lose(c, "the dataplane said no hello");
    } else if (try_connect(c, &e) != 0) {
        lose(c, e.text);
    }
}

int dp_client_new(struct evloop *loop, const char *path, uid_t dataplane_uid,
                  const struct dp_client_handler *handler, void *arg, struct dp_client **out,
                  struct err *e)
{
    struct dp_client *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, HW_ENOMEM, "dataplane client: out of memory");
    c->loop = loop;
    c->uid = dataplane_uid;
    c->handler = handler;
    c->arg = arg;
    c->fd = c->counters_fd = -1;
    c->backoff_ns = BACKOFF_FIRST_NS;
    c->next_seq = 1;
    c->tail = &c->head;
    c->path = strdup(path);
    c->timer = evloop_timer_add(loop, on_timer, c);
    if (!c->path || !c->timer) {
        dp_client_free(c);
        return err_set(e, HW_ENOMEM, "dataplane client: out of memory");
    }
    evloop_timer_arm(c->timer, 0);
    *out = c;
    return 0;
}

void dp_client_free(struct dp_client *c)
{
    if (!c)
        return;
    disconnect(c);
    evloop_timer_remove(c->timer);
    free(c->path);
    free(c);
}

bool dp_client_connected(const struct dp_client *c)
{
    return c->up;
}

const char *dp_client_why(const struct dp_client *c)
{
    return c->why;
}

const struct dp_hello *dp_client_hello(const struct dp_client *c)
{
    return c->up ? &c->hello : NULL;
}

int dp_client_counters_fd(const struct dp_client *c)
{
    return c->counters_fd;
}
