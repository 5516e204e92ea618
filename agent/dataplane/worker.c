#include "agent/dataplane/worker.h"

#include "agent/dataplane/burst.h"
#include "agent/dataplane/forward.h"
#include "agent/dataplane/path_in.h"
#include "agent/dataplane/path_out.h"
#include "common/clock.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define READY_MAX 128
#define IDLE_MS   1000 /* the heart beats at least so often */
#define ORDERS    2

/* Timers are looked at no more often than this, so that many tunnels share one look. */
#define TICK_NS (5 * NS_PER_MS)

/* epoll's notes: anything else is a struct udp_socket. */
#define READY_WAKE ((void *)1)
#define READY_TUN  ((void *)2)

/* ---- control thread ---- */

static int make_fds(struct worker *w, struct err *e)
{
    w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    w->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (w->epoll_fd < 0 || w->done_fd < 0)
        return err_errno(e, errno, "worker %u: epoll", w->index);
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = READY_WAKE};
    if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->shared->wake_fd[w->index], &ev) != 0)
        return err_errno(e, errno, "worker %u: epoll", w->index);
    return 0;
}

static int make_memory(struct worker *w, struct err *e)
{
    int rc = spsc_init(&w->orders, ORDERS, sizeof(struct worker_order), e);
    if (rc == 0)
        rc = spsc_init(&w->events, WORKER_EVENTS, sizeof(struct worker_event), e);
    if (rc == 0)
        rc = sa_table_init(&w->sas, HW_TUNNELS_MAX * TUNNEL_IN_MAX, e);
    if (rc == 0)
        rc = pktbuf_pool_new(WORKER_BUFFERS, &w->pool, e);
    if (rc != 0)
        return rc;
    w->gro = gro_merge_new(false, path_in_emit, w);
    return w->gro != NULL ? 0 : err_set(e, HW_ENOMEM, "worker %u: out of memory", w->index);
}

int worker_new(unsigned index, const struct worker_shared *shared, struct dp_stats_worker *st,
               int cpu, struct worker **out, struct err *e)
{
    struct worker *w = aligned_alloc(64, (sizeof *w + 63) & ~(size_t)63);
    if (w == NULL)
        return err_set(e, HW_ENOMEM, "worker %u: out of memory", index);
    memset(w, 0, sizeof *w);
    w->index = index;
    w->shared = shared;
    w->st = st;
    w->cpu = cpu;
    w->epoll_fd = w->done_fd = w->tun_fd = -1;
    w->next_tick_ns = UINT64_MAX;
    for (unsigned f = 0; f < 2; f++) {
        for (unsigned i = 0; i < HW_PORTS_PER_GATEWAY; i++) {
            w->sock[f][i] = (struct udp_socket){
                .fd = -1, .family = f == 0 ? 4 : 6, .gso = shared->gso, .gro = shared->gro};
        }
    }
    int rc = make_fds(w, e);
    if (rc == 0)
        rc = make_memory(w, e);
    if (rc != 0) {
        worker_free(w);
        return rc;
    }
    *out = w;
    return 0;
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void worker_free(struct worker *w)
{
    if (w == NULL)
        return;
    close_fd(w->epoll_fd);
    close_fd(w->done_fd);
    close_fd(w->tun_fd);
    for (unsigned i = 0; i < HW_PORTS_PER_GATEWAY; i++) {
        close_fd(w->sock[0][i].fd);
        close_fd(w->sock[1][i].fd);
    }
    spsc_done(&w->orders);
    spsc_done(&w->events);
    sa_table_done(&w->sas);
    gro_merge_free(w->gro);
    pktbuf_pool_free(w->pool);
    free(w);
}

static void wake(int fd)
{
    uint64_t one = 1;
    /* Fails only when the counter is full, and then the sleeper is awake already. */
    ssize_t n = write(fd, &one, sizeof one);
    (void)n;
}

static void drain(int fd)
{
    uint64_t count;
    ssize_t n = read(fd, &count, sizeof count);
    (void)n;
}

void worker_order(struct worker *w, worker_order_fn *fn, void *arg)
{
    struct worker_order *o = spsc_reserve(&w->orders);
    *o = (struct worker_order){.fn = fn, .arg = arg};
    spsc_commit(&w->orders);
    wake(w->shared->wake_fd[w->index]);
}

int worker_wait(struct worker *w, uint64_t timeout_ns, struct err *e)
{
    uint64_t deadline = clock_mono_ns() + timeout_ns;
    while (!spsc_drained(&w->orders)) {
        uint64_t now = clock_mono_ns();
        if (now >= deadline)
            return err_set(e, HW_ETIMEOUT, "worker %u does not answer", w->index);
        struct pollfd p = {.fd = w->done_fd, .events = POLLIN};
        (void)poll(&p, 1, (int)((deadline - now) / NS_PER_MS) + 1);
        drain(w->done_fd);
    }
    return 0;
}

/* ---- worker thread ---- */

struct worker_event *worker_event(struct worker *w, unsigned type)
{
    struct worker_event *ev = spsc_reserve(&w->events);
    if (ev == NULL) {
        w->untold = true;
        return NULL;
    }
    ev->type = (uint16_t)type;
    return ev;
}

void worker_event_done(struct worker *w)
{
    spsc_commit(&w->events);
    w->told = true;
}

void worker_bury(struct worker *w, struct sa *sa)
{
    sa->owner = w->dead;
    w->dead = sa;
}

/* Only at the end of a turn: until then something up the call chain may still look at one. */
static void send_dead(struct worker *w)
{
    while (w->dead != NULL) {
        struct worker_event *ev = worker_event(w, 0);
        if (ev == NULL)
            return;
        ev->dead = w->dead;
        w->dead = w->dead->owner;
        worker_event_done(w);
    }
}

static int sleep_ms(const struct worker *w)
{
    uint64_t now = clock_mono_ns();
    if (w->next_tick_ns <= now)
        return 0;
    uint64_t ms = (w->next_tick_ns - now + NS_PER_MS - 1) / NS_PER_MS;
    return ms < IDLE_MS ? (int)ms : IDLE_MS;
}

static int wait_ready(struct worker *w, struct epoll_event *ready)
{
    int n = epoll_wait(w->epoll_fd, ready, READY_MAX, sleep_ms(w));
    w->now_ns = clock_mono_ns();
    w->routing = snapshot_enter(w->shared->routing, w->index);
    return n < 0 ? 0 : n;
}

static void take_handoffs(struct worker *w)
{
    struct handoff *h = w->shared->handoff;
    for (unsigned from = 0; from < w->shared->workers; from++) {
        if (from == w->index)
            continue;
        const struct handoff_item *item;
        while ((item = handoff_peek(h, from, w->index)) != NULL) {
            forward_handed(w, item);
            handoff_return(h, from, w->index);
        }
    }
    handoff_collect(h, w->index);
}

static void take_orders(struct worker *w)
{
    const struct worker_order *o;
    while ((o = spsc_peek(&w->orders)) != NULL) {
        o->fn(w, o->arg);
        spsc_release(&w->orders);
        wake(w->done_fd);
    }
}

static void tick(struct worker *w)
{
    if (w->now_ns < w->next_tick_ns)
        return;
    w->next_tick_ns = UINT64_MAX;
    for (unsigned i = 0; i < w->n_tunnels; i++) {
        struct tunnel *t = w->tunnels[i];
        if (t->tick_ns <= w->now_ns)
            tunnel_tick(w, t);
        else if (t->tick_ns < w->next_tick_ns)
            w->next_tick_ns = t->tick_ns;
    }
    if (w->next_tick_ns < w->now_ns + TICK_NS)
        w->next_tick_ns = w->now_ns + TICK_NS;
}

static void report(struct worker *w)
{
    send_dead(w);
    if (w->untold) {
        w->untold = false;
        for (unsigned i = 0; i < w->n_tunnels; i++)
            tunnel_report(w, w->tunnels[i]);
    }
    if (w->told) {
        w->told = false;
        wake(w->shared->control_fd);
    }
    for (; w->given != 0; w->given &= w->given - 1)
        wake(w->shared->wake_fd[__builtin_ctzll(w->given)]);
}

static void finish_turn(struct worker *w)
{
    path_in_flush(w);
    burst_flush_all(w);
    forward_hand_over(w);
    report(w);
    snapshot_leave(w->shared->routing, w->index);
    uint64_t end = clock_mono_ns();
    stats_add(&w->st->heartbeat, 1);
    stats_set(&w->st->heartbeat_mono_ns, end);
    stats_add(&w->st->busy_ns, end - w->now_ns);
}

/* One turn: wait, take a batch from everywhere, flush, pass the quiescent point. */
static void turn(struct worker *w)
{
    struct epoll_event ready[READY_MAX];
    int n = wait_ready(w, ready);
    bool woken = false;
    for (int i = 0; i < n; i++) {
        if (ready[i].data.ptr == READY_WAKE)
            woken = true;
        else if (ready[i].data.ptr == READY_TUN)
            path_out_drain(w);
        else
            path_in_drain(w, ready[i].data.ptr);
    }
    tick(w);
    if (woken) {
        drain(w->shared->wake_fd[w->index]);
        take_handoffs(w);
        take_orders(w);
    }
    finish_turn(w);
}

static void pin(const struct worker *w)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)w->cpu, &set);
    /* Without it the worker still works; the kernel places it. */
    (void)sched_setaffinity(0, sizeof set, &set);
}

static void *run(void *arg)
{
    struct worker *w = arg;
    if (w->cpu >= 0)
        pin(w);
    char name[16];
    snprintf(name, sizeof name, "worker-%u", w->index);
    (void)pthread_setname_np(pthread_self(), name);
    stats_set(&w->st->tid, (uint64_t)gettid());
    while (!w->stop)
        turn(w);
    return NULL;
}

int worker_start(struct worker *w, struct err *e)
{
    int rc = pthread_create(&w->thread, NULL, run, w);
    if (rc != 0)
        return err_errno(e, rc, "start worker %u", w->index);
    return 0;
}

int worker_watch_tun(struct worker *w, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = READY_TUN};
    return epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &ev) == 0 ? 0 : -errno;
}

int worker_watch_udp(struct worker *w, struct udp_socket *s)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};
    return epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, s->fd, &ev) == 0 ? 0 : -errno;
}

void worker_unwatch(struct worker *w, int fd)
{
    (void)epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
    close(fd);
}
