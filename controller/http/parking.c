#include "controller/http/parking.h"
#include "common/clock.h"
#include "controller/http/exchange.h"
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 200 /* how exact deadlines are */

/* --- tickets and parking --- */

static struct exchange *ticket_find(struct http_server *s, uint64_t ticket)
{
    struct exchange *x = s->tickets[ticket % TICKET_HEAD];
    while (x && x->req.ticket != ticket)
        x = x->chain;
    return x;
}

void parking_add(struct http_server *s, struct exchange *x)
{
    pthread_mutex_lock(&s->lock);
    x->req.ticket = ++s->next_ticket;
    x->chain = s->tickets[x->req.ticket % TICKET_HEAD];
    s->tickets[x->req.ticket % TICKET_HEAD] = x;
    s->running++;
    s->counters[x->req.listener].requests++;
    pthread_mutex_unlock(&s->lock);
}

void parking_remove(struct http_server *s, struct exchange *x)
{
    struct exchange **p = &s->tickets[x->req.ticket % TICKET_HEAD];
    while (*p && *p != x)
        p = &(*p)->chain;
    if (*p)
        *p = x->chain;
    s->running--;
}

uint64_t parking_deadline_in(unsigned seconds)
{
    return clock_mono_ns() + (uint64_t)seconds * NS_PER_S;
}

void parking_deadline(struct http_server *s, struct conn *c, unsigned seconds)
{
    pthread_mutex_lock(&s->lock);
    c->deadline_ns = parking_deadline_in(seconds);
    pthread_mutex_unlock(&s->lock);
}

/* Under the lock. Resuming is legal here: the exchange is still in the table, so its connection has
 * not had its COMPLETED notice, which waits for this lock. */
static void wake_locked(struct http_server *s, struct exchange *x)
{
    if (x->state != PARKED) {
        x->wake = true;
        return;
    }
    x->state = RUNNING;
    s->parked--;
    x->conn->deadline_ns = parking_deadline_in(s->config.answer_seconds);
    MHD_resume_connection(x->mhd);
}

void http_server_wake(struct http_server *s, uint64_t ticket)
{
    pthread_mutex_lock(&s->lock);
    struct exchange *x = ticket_find(s, ticket);
    if (x)
        wake_locked(s, x);
    pthread_mutex_unlock(&s->lock);
}

bool parking_suspend(struct http_server *s, struct exchange *x)
{
    struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.u64 = x->req.ticket};
    pthread_mutex_lock(&s->lock);
    bool go = !x->wake && !s->stopping && !x->conn->cut;
    x->wake = false;
    if (go) {
        x->state = PARKED;
        s->parked++;
        x->conn->deadline_ns = 0;
        MHD_suspend_connection(x->mhd);
        /* A disconnect that came earlier is reported at once, since RDHUP is a level. Without the
         * watch the park's own time limit still ends it. */
        if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, x->conn->fd, &ev) && errno == EEXIST)
            (void)epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, x->conn->fd, &ev);
    }
    pthread_mutex_unlock(&s->lock);
    return go;
}

bool parking_stopping(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stopping;
}

bool parking_over(struct http_server *s, const struct exchange *x)
{
    pthread_mutex_lock(&s->lock);
    bool over = s->stopping || x->conn->cut;
    pthread_mutex_unlock(&s->lock);
    return over;
}

void parking_stop(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    for (size_t i = 0; i < TICKET_HEAD; i++)
        for (struct exchange *x = s->tickets[i]; x; x = x->chain)
            wake_locked(s, x);
    pthread_mutex_unlock(&s->lock);
}

void http_server_counters(struct http_server *s, enum http_listener listener,
                          struct http_server_counters *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->counters[listener];
    for (size_t i = 0; s->parked && i < TICKET_HEAD; i++)
        for (const struct exchange *x = s->tickets[i]; x; x = x->chain)
            out->parked += x->state == PARKED && x->req.listener == listener;
    pthread_mutex_unlock(&s->lock);
}

/* --- the watcher: disconnects of parked connections, and all deadlines --- */

static void check_deadlines(struct http_server *s, uint64_t now)
{
    for (struct conn *c = s->conns; c; c = c->next) {
        if (c->deadline_ns && now >= c->deadline_ns && !c->cut) {
            c->cut = true;
            s->counters[c->listener->kind].cut_deadline++;
            /* The fd is open: it leaves this list in its CLOSED notice, which comes before the
             * close. */
            (void)shutdown(c->fd, SHUT_RDWR);
        }
    }
    for (size_t i = 0; s->parked && i < TICKET_HEAD; i++) {
        for (struct exchange *x = s->tickets[i]; x; x = x->chain) {
            if (x->state == PARKED && now >= x->req.park_until_ns)
                wake_locked(s, x);
        }
    }
}

static void client_left(struct http_server *s, uint64_t ticket)
{
    struct exchange *x = ticket_find(s, ticket);
    if (x && x->state == PARKED) {
        x->gone = true;
        wake_locked(s, x);
    }
}

static void *watcher_main(void *arg)
{
    struct http_server *s = arg;
    struct epoll_event ev[64];
    uint64_t next_tick = 0;
    for (;;) {
        int n = epoll_wait(s->epoll_fd, ev, 64, TICK_MS);
        uint64_t now = clock_mono_ns();
        pthread_mutex_lock(&s->lock);
        bool stop = false;
        for (int i = 0; i < n; i++) {
            if (ev[i].data.u64 == 0)
                stop = true;
            else
                client_left(s, ev[i].data.u64);
        }
        if (now >= next_tick) {
            check_deadlines(s, now);
            next_tick = now + TICK_MS * NS_PER_MS;
        }
        pthread_mutex_unlock(&s->lock);
        if (stop)
            return NULL;
    }
}

int watcher_start(struct http_server *s, struct err *e)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 0};
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->epoll_fd < 0 || s->stop_fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->stop_fd, &ev))
        return err_errno(e, errno, "watch parked connections");
    int rc = pthread_create(&s->watcher, NULL, watcher_main, s);
    if (rc)
        return err_errno(e, rc, "start the watching thread");
    s->watcher_runs = true;
    return 0;
}

void watcher_end(struct http_server *s)
{
    if (s->watcher_runs) {
        uint64_t one = 1;
        (void)!write(s->stop_fd, &one, sizeof one);
        pthread_join(s->watcher, NULL);
    }
    if (s->epoll_fd >= 0)
        (void)close(s->epoll_fd);
    if (s->stop_fd >= 0)
        (void)close(s->stop_fd);
}
