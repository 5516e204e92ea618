#include "common/evloop.h"
#include "common/clock.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define EVENTS_PER_TURN 64
#define NOT_ARMED       SIZE_MAX

struct ev_io {
    struct evloop *loop;
    int fd;
    unsigned events;
    ev_io_fn fn; /* NULL once removed; freed at the end of the turn */
    void *arg;
    struct ev_io *prev, *next; /* in loop->ios, or next alone in loop->dead_ios */
};

struct ev_timer {
    struct evloop *loop;
    ev_timer_fn fn;
    void *arg;
    uint64_t due_ns;
    uint64_t turn;                /* in which it was armed */
    size_t at;                    /* index in loop->heap, or NOT_ARMED */
    struct ev_timer *prev, *next; /* in loop->timers */
};

struct ev_signal {
    int fd, signo;
    ev_signal_fn fn;
    void *arg;
    struct ev_signal *next;
};

struct evloop {
    int epoll_fd, wake_fd;
    atomic_bool stop; /* set by any thread, read by the loop's */
    uint64_t now_ns;
    uint64_t turn; /* counts runs of due timers */
    struct ev_io *ios, *dead_ios;
    struct ev_timer *timers;
    struct ev_timer **heap; /* armed timers, the earliest first; has room for all timers */
    size_t armed, n_timers, heap_cap;
    struct ev_signal *signals;
};

static void drain_wake(void *arg, int fd, unsigned events)
{
    (void)arg;
    (void)events;
    uint64_t count;
    ssize_t n = read(fd, &count, sizeof count);
    (void)n;
}

int evloop_new(struct evloop **out, struct err *e)
{
    struct evloop *l = calloc(1, sizeof *l);
    if (!l)
        return err_set(e, HW_ENOMEM, "out of memory");
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    l->now_ns = clock_mono_ns();
    if (l->epoll_fd < 0 || l->wake_fd < 0 ||
        !evloop_io_add(l, l->wake_fd, EV_READ, drain_wake, NULL)) {
        int rc = err_errno(e, errno, "make event loop");
        evloop_free(l);
        return rc;
    }
    *out = l;
    return HW_OK;
}

static void free_dead(struct evloop *l)
{
    while (l->dead_ios) {
        struct ev_io *io = l->dead_ios;
        l->dead_ios = io->next;
        free(io);
    }
}

void evloop_free(struct evloop *l)
{
    if (!l)
        return;
    while (l->ios)
        evloop_io_remove(l->ios);
    free_dead(l);
    while (l->timers)
        evloop_timer_remove(l->timers);
    while (l->signals) {
        struct ev_signal *s = l->signals;
        l->signals = s->next;
        (void)close(s->fd);
        free(s);
    }
    free(l->heap);
    if (l->wake_fd >= 0)
        (void)close(l->wake_fd);
    if (l->epoll_fd >= 0)
        (void)close(l->epoll_fd);
    free(l);
}

static uint32_t to_epoll(unsigned events)
{
    return (events & EV_READ ? EPOLLIN : 0u) | (events & EV_WRITE ? EPOLLOUT : 0u) |
           (events & EV_HUP ? EPOLLRDHUP : 0u);
}

/* An error or hang-up is also a reason to read or write, for handlers that learn of it that way. */
static unsigned from_epoll(uint32_t got, unsigned wanted)
{
    unsigned events = (got & EPOLLIN ? EV_READ : 0u) | (got & EPOLLOUT ? EV_WRITE : 0u);
    if (got & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        events |= EV_HUP;
    if (got & (EPOLLHUP | EPOLLERR))
        events |= wanted & (EV_READ | EV_WRITE);
    return events;
}

struct ev_io *evloop_io_add(struct evloop *l, int fd, unsigned events, ev_io_fn fn, void *arg)
{
    struct ev_io *io = calloc(1, sizeof *io);
    if (!io)
        return NULL;
    *io = (struct ev_io){.loop = l, .fd = fd, .events = events, .fn = fn, .arg = arg};
    struct epoll_event ev = {.events = to_epoll(events), .data.ptr = io};
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0) {
        free(io);
        return NULL;
    }
    io->next = l->ios;
    if (l->ios)
        l->ios->prev = io;
    l->ios = io;
    return io;
}

void evloop_io_events(struct ev_io *io, unsigned events)
{
    if (io->events == events)
        return;
    struct epoll_event ev = {.events = to_epoll(events), .data.ptr = io};
    (void)epoll_ctl(io->loop->epoll_fd, EPOLL_CTL_MOD, io->fd, &ev);
    io->events = events;
}

/* The memory stays until the turn ends: the kernel may already have handed out this turn's event
 * for it. */
void evloop_io_remove(struct ev_io *io)
{
    if (!io)
        return;
    struct evloop *l = io->loop;
    (void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL);
    if (io->prev)
        io->prev->next = io->next;
    else
        l->ios = io->next;
    if (io->next)
        io->next->prev = io->prev;
    io->fn = NULL;
    io->next = l->dead_ios;
    l->dead_ios = io;
}

static void heap_put(struct evloop *l, size_t i, struct ev_timer *t)
{
    l->heap[i] = t;
    t->at = i;
}

static void heap_up(struct evloop *l, size_t i)
{
    struct ev_timer *t = l->heap[i];
    while (i > 0 && l->heap[(i - 1) / 2]->due_ns > t->due_ns) {
        heap_put(l, i, l->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_put(l, i, t);
}

static void heap_down(struct evloop *l, size_t i)
{
    struct ev_timer *t = l->heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < l->armed && l->heap[child + 1]->due_ns < l->heap[child]->due_ns)
            child++;
        if (child >= l->armed || l->heap[child]->due_ns >= t->due_ns)
            break;
        heap_put(l, i, l->heap[child]);
        i = child;
    }
    heap_put(l, i, t);
}

/* Room in the heap is made here, so that arming a timer cannot fail. */
struct ev_timer *evloop_timer_add(struct evloop *l, ev_timer_fn fn, void *arg)
{
    if (l->n_timers == l->heap_cap) {
        size_t cap = l->heap_cap ? 2 * l->heap_cap : 16;
        struct ev_timer **heap = reallocarray(l->heap, cap, sizeof *heap);
        if (!heap)
            return NULL;
        l->heap = heap;
        l->heap_cap = cap;
    }
    struct ev_timer *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    *t = (struct ev_timer){.loop = l, .fn = fn, .arg = arg, .at = NOT_ARMED, .next = l->timers};
    if (l->timers)
        l->timers->prev = t;
    l->timers = t;
    l->n_timers++;
    return t;
}

void evloop_timer_arm(struct ev_timer *t, uint64_t delay_ns)
{
    struct evloop *l = t->loop;
    evloop_timer_disarm(t);
    t->due_ns = delay_ns > UINT64_MAX - l->now_ns ? UINT64_MAX : l->now_ns + delay_ns;
    t->turn = l->turn;
    heap_put(l, l->armed, t);
    l->armed++;
    heap_up(l, t->at);
}

void evloop_timer_disarm(struct ev_timer *t)
{
    struct evloop *l = t->loop;
    size_t i = t->at;
    if (i == NOT_ARMED)
        return;
    t->at = NOT_ARMED;
    l->armed--;
    if (i == l->armed)
        return;
    heap_put(l, i, l->heap[l->armed]);
    heap_down(l, i);
    heap_up(l, i);
}

void evloop_timer_remove(struct ev_timer *t)
{
    if (!t)
        return;
    struct evloop *l = t->loop;
    evloop_timer_disarm(t);
    if (t->prev)
        t->prev->next = t->next;
    else
        l->timers = t->next;
    if (t->next)
        t->next->prev = t->prev;
    l->n_timers--;
    free(t);
}

static void signal_ready(void *arg, int fd, unsigned events)
{
    struct ev_signal *s = arg;
    struct signalfd_siginfo info;
    (void)events;
    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        s->fn(s->arg, s->signo);
}

int evloop_signal(struct evloop *l, int signo, ev_signal_fn fn, void *arg, struct err *e)
{
    struct ev_signal *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, HW_ENOMEM, "out of memory");
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, signo);
    *s = (struct ev_signal){.fd = -1, .signo = signo, .fn = fn, .arg = arg};
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        goto fail;
    s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->fd < 0)
        goto fail;
    if (!evloop_io_add(l, s->fd, EV_READ, signal_ready, s))
        goto close_fd;
    s->next = l->signals;
    l->signals = s;
    return HW_OK;
close_fd:
    (void)close(s->fd);
fail:
    free(s);
    return err_errno(e, errno, "watch signal %d", signo);
}

uint64_t evloop_now(const struct evloop *l)
{
    return l->now_ns;
}

/* Milliseconds until the next timer, rounded up so that it is due on waking; −1 without one. */
static int wait_ms(const struct evloop *l)
{
    if (l->armed == 0)
        return -1;
    uint64_t now = clock_mono_ns(), due = l->heap[0]->due_ns;
    if (due <= now)
        return 0;
    uint64_t ms = (due - now - 1) / NS_PER_MS + 1;
    return ms > INT_MAX ? INT_MAX : (int)ms;
}

/* One that a handler arms for "now" waits for the next turn, so that it cannot starve the rest. */
static void run_timers(struct evloop *l)
{
    l->turn++;
    while (l->armed > 0 && l->heap[0]->due_ns <= l->now_ns && l->heap[0]->turn != l->turn) {
        struct ev_timer *t = l->heap[0];
        evloop_timer_disarm(t);
        t->fn(t->arg);
    }
}

int evloop_run(struct evloop *l, struct err *e)
{
    struct epoll_event events[EVENTS_PER_TURN];
    while (!atomic_load_explicit(&l->stop, memory_order_acquire)) {
        int n = epoll_wait(l->epoll_fd, events, EVENTS_PER_TURN, wait_ms(l));
        if (n < 0 && errno != EINTR)
            return err_errno(e, errno, "wait for events");
        l->now_ns = clock_mono_ns();
        for (int i = 0; i < n; i++) {
            struct ev_io *io = events[i].data.ptr;
            if (io->fn)
                io->fn(io->arg, io->fd, from_epoll(events[i].events, io->events));
        }
        run_timers(l);
        free_dead(l);
    }
    atomic_store_explicit(&l->stop, false, memory_order_relaxed);
    return HW_OK;
}

void evloop_stop(struct evloop *l)
{
    const uint64_t one = 1;
    atomic_store_explicit(&l->stop, true, memory_order_release);
    ssize_t n = write(l->wake_fd, &one, sizeof one);
    (void)n;
}
