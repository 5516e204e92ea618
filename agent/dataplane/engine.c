#include "agent/dataplane/engine.h"

#include "agent/dataplane/aead.h"
#include "agent/dataplane/engine_state.h"
#include "agent/dataplane/path_in.h"
#include "agent/dataplane/tun_io.h"
#include "common/log.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- orders to workers ---- */

_Noreturn void engine_end_stuck(const struct err *e)
{
    log_error("%s, ending", e->text);
    _exit(1);
}

static void wait_or_die(struct worker *w)
{
    struct err e = {0};
    if (worker_wait(w, ENGINE_WORKER_TIMEOUT_NS, &e) != 0)
        engine_end_stuck(&e);
}

void engine_order_all(struct engine *en, worker_order_fn *fn, void *arg)
{
    for (unsigned i = 0; i < en->started; i++)
        worker_order(en->worker[i], fn, arg);
    for (unsigned i = 0; i < en->started; i++)
        wait_or_die(en->worker[i]);
}

void engine_order_one(struct engine *en, unsigned worker, worker_order_fn *fn, void *arg)
{
    worker_order(en->worker[worker], fn, arg);
    wait_or_die(en->worker[worker]);
}

static void free_dead(struct sa *sa)
{
    while (sa != NULL) {
        struct sa *next = sa->owner;
        sa_free(sa);
        sa = next;
    }
}

void engine_free_dead(struct sa *const dead[HW_WORKERS_MAX])
{
    for (unsigned i = 0; i < HW_WORKERS_MAX; i++)
        free_dead(dead[i]);
}

/* ---- start and end ---- */

static unsigned usable_cores(cpu_set_t *set)
{
    CPU_ZERO(set);
    if (sched_getaffinity(0, sizeof *set, set) != 0)
        return 1;
    return (unsigned)CPU_COUNT(set);
}

/* The n-th core that this process may run on. */
static int nth_core(const cpu_set_t *set, unsigned n)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET((unsigned)cpu, set) && n-- == 0)
            return cpu;
    }
    return -1;
}

static int make_shared(struct engine *en, const struct engine_options *o, struct err *e)
{
    struct worker_shared *s = &en->shared;
    udp_io_probe(&s->gso, &s->gro);
    s->gso = s->gso && !o->no_gso;
    s->gro = s->gro && !o->no_gro;
    s->plain_tun = o->no_tun_offload;
    s->routing = &en->routing;
    s->live = &en->live;
    s->control_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->control_fd < 0)
        return err_errno(e, errno, "eventfd");
    for (unsigned i = 0; i < s->workers; i++) {
        s->wake_fd[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (s->wake_fd[i] < 0)
            return err_errno(e, errno, "eventfd");
    }
    return handoff_new(s->workers, WORKER_BUFFERS, &s->handoff, e);
}

static int make_workers(struct engine *en, unsigned first_core, struct err *e)
{
    cpu_set_t cores;
    unsigned n = usable_cores(&cores);
    for (unsigned i = 0; i < en->shared.workers; i++) {
        int cpu = n >= en->shared.workers ? nth_core(&cores, (first_core % n + i) % n) : -1;
        int rc = worker_new(i, &en->shared, &en->stats.workers[i], cpu, &en->worker[i], e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int build(struct engine *en, const struct engine_options *o, struct err *e)
{
    cpu_set_t cores;
    en->shared.workers = o->workers != 0 ? o->workers : usable_cores(&cores);
    if (en->shared.workers > HW_WORKERS_MAX)
        en->shared.workers = HW_WORKERS_MAX;
    int rc = aead_init(e);
    if (rc != 0)
        return rc;
    en->aead = aead_provider_by_name(o->provider);
    if (en->aead == NULL)
        return err_set(e, HW_EINVAL, "provider %s is unknown or does not run here", o->provider);
    struct routing *nothing = calloc(1, sizeof *nothing);
    if (nothing == NULL)
        return err_set(e, HW_ENOMEM, "out of memory");
    snapshot_init(&en->routing, en->shared.workers, nothing);
    rc = stats_open(&en->stats, &en->boot, en->shared.workers, e);
    if (rc == 0)
        rc = make_shared(en, o, e);
    return rc == 0 ? make_workers(en, o->first_core, e) : rc;
}

int engine_new(const struct engine_options *o, struct engine **out, struct err *e)
{
    struct engine *en = aligned_alloc(64, (sizeof *en + 63) & ~(size_t)63);
    if (en == NULL)
        return err_set(e, HW_ENOMEM, "out of memory");
    memset(en, 0, sizeof *en);
    en->boot = id_new();
    en->stats.fd = en->stats.agent_fd = -1;
    en->shared.control_fd = -1;
    for (unsigned i = 0; i < HW_WORKERS_MAX; i++)
        en->shared.wake_fd[i] = -1;
    int rc = build(en, o, e);
    if (rc != 0) {
        engine_free(en);
        return rc;
    }
    *out = en;
    return 0;
}

int engine_start(struct engine *en, struct err *e)
{
    for (; en->started < en->shared.workers; en->started++) {
        int rc = worker_start(en->worker[en->started], e);
        if (rc != 0)
            return rc;
    }
    /* What a thread does for itself before its first turn (core, name) the sandbox would forbid. */
    engine_order_all(en, order_nothing, NULL);
    return 0;
}

static void discard(void *ctx, enum dp_type type, const void *body, size_t len)
{
    (void)ctx;
    (void)type;
    (void)body;
    (void)len;
}

/* With the threads gone their buffers can be collected by anyone. */
static void bring_buffers_home(struct engine *en)
{
    struct handoff *h = en->shared.handoff;
    unsigned n = en->shared.workers;
    for (unsigned from = 0; from < n; from++) {
        for (unsigned to = 0; to < n; to++) {
            while (to != from && handoff_peek(h, from, to) != NULL)
                handoff_return(h, from, to);
        }
        handoff_collect(h, from);
        for (unsigned to = 0; to < n; to++)
            pktbuf_put(en->worker[from]->packed[to]);
        pktbuf_put(en->worker[from]->tun_buf);
        en->worker[from]->tun_buf = NULL;
    }
}

static void close_fd(int fd)
{
    if (fd >= 0)
        close(fd);
}

void engine_free(struct engine *en)
{
    if (en == NULL)
        return;
    for (unsigned slot = 0; slot < HW_LINKS_MAX; slot++) {
        if (en->link[slot].used)
            engine_drop_link(en, slot);
    }
    unsigned started = en->started;
    engine_order_all(en, order_stop, NULL);
    for (unsigned i = 0; i < started; i++)
        pthread_join(en->worker[i]->thread, NULL);
    if (started != 0) {
        engine_events(en, discard, NULL);
        bring_buffers_home(en);
    }
    for (unsigned i = 0; i < HW_WORKERS_MAX; i++) {
        worker_free(en->worker[i]);
        close_fd(en->shared.wake_fd[i]);
    }
    close_fd(en->shared.control_fd);
    handoff_free(en->shared.handoff);
    engine_routing_free(snapshot_current(&en->routing));
    stats_close(&en->stats);
    free(en->fib_image);
    free(en);
}

/* ---- what it is ---- */

void engine_hello(const struct engine *en, uint32_t extra, struct dp_hello *out)
{
    *out = (struct dp_hello){
        .boot = en->boot,
        .workers = (uint16_t)en->shared.workers,
        .provider = en->aead->id,
        .suites = en->aead->suites,
        .features = extra | (en->shared.gso ? DP_FEATURE_UDP_GSO : 0) |
                    (en->shared.gro ? DP_FEATURE_UDP_GRO : 0) |
                    (en->tun_uso ? DP_FEATURE_TUN_USO : 0),
        .build = HAWSER_VERSION,
    };
}

int engine_stats_fd(const struct engine *en)
{
    return en->stats.agent_fd;
}

int engine_event_fd(const struct engine *en)
{
    return en->shared.control_fd;
}

/* ---- descriptors ---- */

int engine_attach_tun(struct engine *en, const struct dp_attach_tun *m, int fd, struct err *e)
{
    if (m->queues != en->shared.workers) {
        close(fd);
        return err_set(e, HW_EINVAL, "%u TUN queues for %u workers", m->queues, en->shared.workers);
    }
    struct order_tun o = {.fd = fd, .queues = m->queues, .mtu = m->mtu};
    int rc = tun_io_prepare(fd, en->shared.plain_tun, &o.uso, e);
    if (rc == 0) {
        o.gro = gro_merge_new(o.uso, path_in_emit, en->worker[m->queue]);
        rc = o.gro != NULL ? 0 : err_set(e, HW_ENOMEM, "out of memory");
    }
    if (rc != 0) {
        close(fd);
        return rc;
    }
    engine_order_one(en, m->queue, order_attach_tun, &o);
    gro_merge_free(o.gro);
    if (o.rc != 0) {
        close(fd);
        return err_errno(e, -o.rc, "watch TUN queue %u", m->queue);
    }
    en->tun_uso = o.uso;
    return 0;
}

int engine_attach_udp(struct engine *en, const struct dp_attach_udp *m, int fd, struct err *e)
{
    struct udp_socket s = {
        .fd = fd, .family = m->family, .gso = en->shared.gso, .gro = en->shared.gro};
    int rc = udp_io_prepare(&s, e);
    if (rc != 0) {
        close(fd);
        return rc;
    }
    struct order_udp o = {
        .fd = fd, .family = m->family, .port_index = m->port_index, .port = m->port};
    engine_order_one(en, m->port_index % en->shared.workers, order_attach_udp, &o);
    if (o.rc != 0) {
        close(fd);
        return err_errno(e, -o.rc, "watch UDP port %u", m->port);
    }
    return 0;
}

/* ---- events ---- */

static void emit_event(const struct worker_event *ev, engine_emit_fn *emit, void *ctx)
{
    switch (ev->type) {
    case DP_TUNNEL_STATE:
        emit(ctx, DP_TUNNEL_STATE, &ev->tunnel, sizeof ev->tunnel);
        break;
    case DP_PEER_MOVED:
        emit(ctx, DP_PEER_MOVED, &ev->moved, sizeof ev->moved);
        break;
    default:
        emit(ctx, ev->type, &ev->sa, sizeof ev->sa);
        break;
    }
}

void engine_events(struct engine *en, engine_emit_fn *emit, void *ctx)
{
    uint64_t count;
    ssize_t n = read(en->shared.control_fd, &count, sizeof count);
    (void)n;
    for (unsigned i = 0; i < en->shared.workers; i++) {
        struct worker_event *ev;
        while ((ev = spsc_peek(&en->worker[i]->events)) != NULL) {
            if (ev->type == 0)
                sa_free(ev->dead);
            else
                emit_event(ev, emit, ctx);
            spsc_release(&en->worker[i]->events);
        }
    }
}

void engine_retell(struct engine *en)
{
    engine_order_all(en, order_retell, NULL);
}
