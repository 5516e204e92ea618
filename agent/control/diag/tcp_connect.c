/* tcp-connect: connections one after the other, each closed as soon as it stands. */
#include "agent/control/diag/job.h"
#include "agent/control/underlay.h"
#include "common/clock.h"
#include "common/model/diag_result.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_NS (100 * NS_PER_MS) /* between attempts */

struct tcp_connect {
    struct job_env env;
    struct tcp_result result;
    int fd;
    struct ev_io *io;
    struct ev_timer *timer; /* patience, or the pause before the next attempt */
    uint64_t started_ns;
};

static void begin(struct tcp_connect *t);

static void close_attempt(struct tcp_connect *t)
{
    if (t->io)
        evloop_io_remove(t->io);
    if (t->fd >= 0)
        (void)close(t->fd);
    t->io = NULL;
    t->fd = -1;
}

static enum tcp_outcome outcome_of(int errnum)
{
    switch (errnum) {
    case 0:
        return TCP_CONNECTED;
    case ECONNREFUSED:
        return TCP_REFUSED;
    case ETIMEDOUT:
        return TCP_TIMEOUT;
    case EHOSTUNREACH:
    case ENETUNREACH:
        return TCP_UNREACHABLE;
    default:
        return TCP_ERROR;
    }
}

static const char *reason_of(enum tcp_outcome outcome, int errnum)
{
    static const char *const reasons[] = {"", "connection refused", "no answer",
                                          "host or network unreachable"};
    return outcome == TCP_ERROR ? strerrordesc_np(errnum) : reasons[outcome];
}

static void attempt_over(struct tcp_connect *t, int errnum)
{
    const struct command *c = t->env.command;
    char text[HW_TEXT_MAX + 1];
    struct tcp_attempt *a = &t->result.attempts[t->result.n_attempts++];
    a->outcome = outcome_of(errnum);
    a->duration_ms = (double)(clock_mono_ns() - t->started_ns) / NS_PER_MS;
    const char *reason = reason_of(a->outcome, errnum);
    (void)snprintf(a->error, sizeof a->error, "%s", reason ? reason : "failed");
    close_attempt(t);
    (void)snprintf(text, sizeof text, "%zu of %u", t->result.n_attempts, c->attempts);
    t->env.events->progress(t->env.arg, (unsigned)t->result.n_attempts, c->attempts, text);
    if (t->result.n_attempts == c->attempts)
        t->env.events->over(t->env.arg, NULL);
    else
        evloop_timer_arm(t->timer, PAUSE_NS);
}

static void on_connected(void *arg, int fd, unsigned events)
{
    struct tcp_connect *t = arg;
    int errnum = 0;
    socklen_t len = sizeof errnum;
    (void)events;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
        errnum = errno;
    attempt_over(t, errnum);
}

static int dial(struct tcp_connect *t, struct err *e)
{
    const struct command *c = t->env.command;
    struct sockaddr_storage to, own;
    socklen_t len = ipaddr_to_sockaddr(&c->target, c->port, &to), own_len = sizeof own;
    t->fd = socket(c->target.family == 4 ? AF_INET : AF_INET6,
                   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (t->fd < 0)
        return err_errno(e, errno, "socket");
    int rc = c->network == COMMAND_UNDERLAY ? underlay_socket_mark(t->fd, e) : 0;
    if (rc == 0 && c->source.family) {
        own_len = ipaddr_to_sockaddr(&c->source, 0, &own);
        if (bind(t->fd, (const struct sockaddr *)&own, own_len) < 0)
            rc = err_errno(e, errno, "bind to the source address");
    }
    if (rc < 0)
        return rc;
    int errnum = connect(t->fd, (const struct sockaddr *)&to, len) < 0 ? errno : 0;
    own_len = sizeof own;
    if (getsockname(t->fd, (struct sockaddr *)&own, &own_len) == 0)
        (void)ipaddr_from_sockaddr((struct sockaddr *)&own, &t->result.source, NULL);
    if (errnum != EINPROGRESS && errnum != 0)
        return errnum;
    t->io = evloop_io_add(t->env.loop, t->fd, EV_WRITE, on_connected, t);
    return t->io ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

static void begin(struct tcp_connect *t)
{
    struct err e = {0};
    t->started_ns = clock_mono_ns();
    int rc = dial(t, &e);
    if (rc < 0)
        t->env.events->over(t->env.arg, &e);
    else if (rc > 0)
        attempt_over(t, rc);
    else
        evloop_timer_arm(t->timer, t->env.command->timeout_ms * NS_PER_MS);
}

static void on_timer(void *arg)
{
    struct tcp_connect *t = arg;
    if (t->io) {
        attempt_over(t, ETIMEDOUT);
        return;
    }
    uint64_t wait = diag_budget_take(t->env.budget, clock_mono_ns());
    if (wait)
        evloop_timer_arm(t->timer, wait);
    else
        begin(t);
}

static void tcp_free(void *job)
{
    struct tcp_connect *t = job;
    if (!t)
        return;
    close_attempt(t);
    if (t->timer)
        evloop_timer_remove(t->timer);
    free(t);
}

static int tcp_start(const struct job_env *env, void **job, struct err *e)
{
    struct tcp_connect *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, HW_ENOMEM, "out of memory");
    t->env = *env;
    t->fd = -1;
    t->result.source = env->command->source;
    t->result.destination = env->command->target;
    t->result.port = env->command->port;
    t->timer = evloop_timer_add(env->loop, on_timer, t);
    if (!t->timer) {
        tcp_free(t);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    evloop_timer_arm(t->timer, 0);
    *job = t;
    return 0;
}

static void tcp_put(const void *job, struct json_writer *w)
{
    const struct tcp_connect *t = job;
    struct tcp_result result = t->result;
    /* Before the first attempt the source is not known: the family's unspecified address. */
    if (!result.source.family)
        result.source.family = result.destination.family;
    tcp_result_put(w, &result);
}

const struct job_kind job_tcp_connect = {tcp_start, tcp_put, tcp_free};
