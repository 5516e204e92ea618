#include "agent/control/keying/conn.h"
#include "agent/control/keying/sockets.h"
#include "common/clock.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Many messages of announced MTUs may wait; a peer that lets more pile up is stuck. */
#define OUT_MAX (64u * 1024u)
/* Messages taken in one turn of the loop, so that one busy peer does not hold up the others. */
#define READ_BUDGET    32
#define FINISH_WAIT_NS (2 * 1000000000ull)

enum conn_state { CONNECTING, HANDSHAKE, OPEN, FINISHING };

struct conn {
    struct evloop *loop;
    struct tls_conn *tls;
    int fd;
    struct ev_io *io;
    struct ev_timer *deadline;
    struct ev_timer *again; /* more to read, or a failure to tell, at the next turn */
    enum conn_state state;
    struct x509_info peer;
    const struct conn_handler *handler;
    void *arg;
    unsigned busy; /* inside one of its callbacks: freed when that returns */
    bool dead;
    bool overflow;
    uint8_t in[MESSAGE_MAX];
    size_t in_len;
    uint8_t *out;
    size_t out_len, out_cap;
};

static void conn_free(struct conn *c)
{
    free(c->out);
    free(c);
}

/* Lets go of everything but the memory, which a running callback may still look at. */
static void release(struct conn *c)
{
    c->dead = true;
    if (c->tls && c->state >= OPEN)
        tls_conn_shutdown(c->tls);
    tls_conn_free(c->tls);
    c->tls = NULL;
    evloop_io_remove(c->io);
    evloop_timer_remove(c->deadline);
    evloop_timer_remove(c->again);
    c->io = NULL;
    c->deadline = c->again = NULL;
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
    if (c->busy == 0)
        conn_free(c);
}

void conn_close(struct conn *c)
{
    if (c && !c->dead)
        release(c);
}

/* Ends the connection and tells its owner. */
static void lose(struct conn *c, int code, const char *why)
{
    if (c->state == FINISHING) {
        conn_close(c);
        return;
    }
    c->busy++;
    c->handler->closed(c->arg, c, code, why);
    c->busy--;
    if (c->dead)
        conn_free(c);
    else
        release(c);
}

static void watch(struct conn *c)
{
    unsigned events = c->state == CONNECTING || c->state == FINISHING ? EV_WRITE : EV_READ;
    if (c->state == HANDSHAKE)
        events = tls_conn_wants(c->tls);
    else if (c->state >= OPEN && c->out_len > 0)
        events |= EV_WRITE;
    evloop_io_events(c->io, events);
}

/* Writes what is queued, as far as the peer takes it. */
static int flush_out(struct conn *c, struct err *e)
{
    size_t done = 0;
    int rc = 0;
    if (c->out_len == 0)
        return 0;
    while (done < c->out_len) {
        ssize_t n = tls_conn_write(c->tls, c->out + done, c->out_len - done, e);
        if (n < 0) {
            rc = n == HW_EAGAIN ? 0 : (int)n;
            break;
        }
        done += (size_t)n;
    }
    memmove(c->out, c->out + done, c->out_len - done);
    c->out_len -= done;
    return rc;
}

/* Hands on the message at the start of the input, if it is whole. 1: one was, 0: not yet. */
static int take_message(struct conn *c, struct err *e)
{
    size_t total;
    if (c->in_len < MESSAGE_HEADER_LEN)
        return 0;
    int rc = message_frame(c->in, &total, e);
    if (rc != 0)
        return rc;
    if (c->in_len < total)
        return 0;
    struct message m;
    rc = message_decode(c->in, total, &m, e);
    if (rc != 0)
        return rc;
    uint8_t raw[MESSAGE_MAX];
    memcpy(raw, c->in, total);
    memmove(c->in, c->in + total, c->in_len - total);
    c->in_len -= total;
    c->handler->message(c->arg, c, &m, raw, total);
    return 1;
}

/* Reads and hands on until nothing is left. 0, or why the connection ends; the budget used up arms
 * the timer. */
static int read_messages(struct conn *c, struct err *e)
{
    for (unsigned budget = READ_BUDGET; budget > 0; budget--) {
        int rc = take_message(c, e);
        if (rc < 0)
            return rc;
        if (c->dead || c->state != OPEN)
            return 0;
        if (rc > 0)
            continue;
        ssize_t n = tls_conn_read(c->tls, c->in + c->in_len, sizeof c->in - c->in_len, e);
        if (n == HW_EAGAIN)
            return 0;
        if (n == 0)
            return err_set(e, HW_ECLOSED, "the peer closed the connection");
        if (n < 0)
            return (int)n;
        c->in_len += (size_t)n;
    }
    evloop_timer_arm(c->again, 0);
    return 0;
}

static int do_handshake(struct conn *c, struct err *e)
{
    int rc = tls_conn_handshake(c->tls, e);
    if (rc == HW_EAGAIN)
        return 0;
    if (rc == 0)
        rc = tls_conn_peer(c->tls, &c->peer, e);
    if (rc != 0)
        return rc;
    c->state = OPEN;
    c->handler->secured(c->arg, c);
    return 0;
}

static int finish_connect(struct conn *c, struct err *e)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error != 0) {
        (void)err_errno(e, error, "connect");
        return HW_ECLOSED;
    }
    c->state = HANDSHAKE;
    return 0;
}

/* What is waiting in the socket's state: connect, handshake, messages. */
static int progress(struct conn *c, struct err *e)
{
    int rc = 0;
    if (c->state == CONNECTING)
        rc = finish_connect(c, e);
    if (rc == 0 && c->state == HANDSHAKE)
        rc = do_handshake(c, e);
    if (rc == 0 && !c->dead && c->state >= OPEN)
        rc = flush_out(c, e);
    if (rc == 0 && !c->dead && c->state == OPEN)
        rc = read_messages(c, e);
    return rc;
}

static void turn(struct conn *c)
{
    struct err e = {0};
    c->busy++;
    int rc = progress(c, &e);
    c->busy--;
    if (c->dead)
        conn_free(c);
    else if (rc != 0)
        lose(c, rc, e.text);
    else if (c->state == FINISHING && c->out_len == 0)
        conn_close(c);
    else
        watch(c);
}

static void on_io(void *arg, int fd, unsigned events)
{
    (void)fd;
    (void)events;
    turn(arg);
}

static void on_again(void *arg)
{
    struct conn *c = arg;
    if (c->overflow)
        lose(c, HW_ETIMEOUT, "the peer takes no messages");
    else
        turn(c);
}

static void on_deadline(void *arg)
{
    struct conn *c = arg;
    static const char *const what[] = {"no connection within 10 s", "no TLS handshake within 10 s",
                                       "no message within 10 s", ""};
    lose(c, HW_ETIMEOUT, what[c->state]);
}

static int conn_make(struct evloop *loop, struct tls_context *context, int64_t now_s, int fd,
                     const struct conn_handler *handler, void *arg, struct conn **out,
                     struct err *e)
{
    struct conn *c = calloc(1, sizeof *c);
    if (!c) {
        (void)close(fd);
        return err_set(e, HW_ENOMEM, "connection: out of memory");
    }
    c->loop = loop;
    c->fd = fd;
    c->handler = handler;
    c->arg = arg;
    c->io = evloop_io_add(loop, fd, EV_READ, on_io, c);
    c->deadline = evloop_timer_add(loop, on_deadline, c);
    c->again = evloop_timer_add(loop, on_again, c);
    if (!c->io || !c->deadline || !c->again) {
        release(c);
        return err_set(e, HW_ENOMEM, "connection: out of memory");
    }
    int rc = tls_conn_new(context, fd, now_s, &c->tls, e);
    if (rc != 0) {
        release(c);
        return rc;
    }
    evloop_timer_arm(c->deadline, CONN_TIMEOUT_NS);
    *out = c;
    return 0;
}

int conn_dial(struct evloop *loop, struct tls_context *client, int64_t now_s,
              const struct ipaddr *local, const struct ipaddr *remote, uint16_t port,
              const struct conn_handler *handler, void *arg, struct conn **out, struct err *e)
{
    int fd = sockets_dial(local, remote, port, e);
    if (fd < 0)
        return fd;
    struct conn *c = NULL;
    int rc = conn_make(loop, client, now_s, fd, handler, arg, &c, e);
    if (rc != 0)
        return rc;
    c->state = CONNECTING;
    watch(c);
    *out = c;
    return 0;
}

int conn_accept(struct evloop *loop, struct tls_context *server, int64_t now_s, int fd,
                const struct conn_handler *handler, void *arg, struct conn **out, struct err *e)
{
    int rc = conn_make(loop, server, now_s, fd, handler, arg, out, e);
    if (rc == 0)
        (*out)->state = HANDSHAKE;
    return rc;
}

void conn_owner(struct conn *c, const struct conn_handler *handler, void *arg)
{
    c->handler = handler;
    c->arg = arg;
}

void conn_finish(struct conn *c)
{
    if (!c || c->dead)
        return;
    struct err e;
    if (c->state < OPEN || flush_out(c, &e) != 0 || c->out_len == 0) {
        conn_close(c);
        return;
    }
    c->state = FINISHING;
    evloop_timer_arm(c->deadline, FINISH_WAIT_NS);
    watch(c);
}

void conn_deadline(struct conn *c, uint64_t delay_ns)
{
    if (delay_ns == 0)
        evloop_timer_disarm(c->deadline);
    else
        evloop_timer_arm(c->deadline, delay_ns);
}

void conn_send_bytes(struct conn *c, const void *data, size_t len)
{
    if (c->dead || c->overflow || c->state != OPEN)
        return;
    uint8_t *out = c->out;
    if (c->out_len + len > OUT_MAX) {
        c->overflow = true;
    } else if (c->out_len + len > c->out_cap) {
        out = realloc(c->out, c->out_len + len);
        c->overflow = !out;
    }
    if (c->overflow) {
        evloop_timer_arm(c->again, 0);
        return;
    }
    if (out != c->out || c->out_len + len > c->out_cap)
        c->out_cap = c->out_len + len;
    c->out = out;
    memcpy(c->out + c->out_len, data, len);
    c->out_len += len;
    /* flushed by the turn that is running, or by the next one */
    if (c->busy == 0)
        evloop_timer_arm(c->again, 0);
}

void conn_send(struct conn *c, const struct message *m)
{
    uint8_t buf[MESSAGE_MAX];
    conn_send_bytes(c, buf, message_encode(m, buf));
}

const struct x509_info *conn_peer(const struct conn *c)
{
    return &c->peer;
}

int conn_peer_gateway(const struct conn *c, struct hw_id *id)
{
    size_t prefix = strlen(X509_URI_GATEWAY);
    if (c->state < OPEN || strncmp(c->peer.uri, X509_URI_GATEWAY, prefix) != 0 ||
        id_parse(c->peer.uri + prefix, id) != 0)
        return HW_EAUTH;
    return 0;
}

int conn_export(struct conn *c, const char *label, const void *context, size_t context_len,
                void *out, size_t len, struct err *e)
{
    return tls_conn_export(c->tls, label, context, context_len, out, len, e);
}
