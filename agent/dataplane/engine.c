#include "agent/dataplane/engine.h"

#include "agent/dataplane/aead.h"
#include "agent/dataplane/orders.h"
#include "agent/dataplane/path_in.h"
#include "agent/dataplane/tun_io.h"
#include "agent/dataplane/worker.h"
#include "common/clock.h"
#include "common/log.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* A worker takes an order after its batch, well under a millisecond; this is for machines in
 * distress. */
#define WORKER_TIMEOUT_NS (5 * NS_PER_S)

struct engine_link {
    bool used;
    struct dp_link_set set;
    uint16_t stats_slot[HW_TUNNELS_PER_LINK_MAX];
};

struct engine {
    struct hw_id boot;
    const struct aead_provider *aead;
    struct stats stats;
    struct snapshot_cell routing; /* struct routing */
    struct live_map live;
    struct worker_shared shared;
    struct worker *worker[HW_WORKERS_MAX];
    unsigned started;        /* workers whose thread runs */
    bool tun_uso;            /* found when TUN was attached */
    struct dp_node_set node; /* gateway zero: not set */
    struct engine_link link[HW_LINKS_MAX];
    bool stats_used[HW_TUNNELS_MAX];
    void *fib_image; /* last committed, kept to build anew when links change */
    size_t fib_len;
};

/* ---- orders to workers ---- */

/* Fail-stop: a worker that does not answer still owns SAs, sockets and what the order points to. */
_Noreturn static void end_stuck(const struct err *e)
{
    log_error("%s, ending", e->text);
    _exit(1);
}

static void wait_or_die(struct worker *w)
{
    struct err e = {0};
    if (worker_wait(w, WORKER_TIMEOUT_NS, &e) != 0)
        end_stuck(&e);
}

static void order_all(struct engine *en, worker_order_fn *fn, void *arg)
{
    for (unsigned i = 0; i < en->started; i++)
        worker_order(en->worker[i], fn, arg);
    for (unsigned i = 0; i < en->started; i++)
        wait_or_die(en->worker[i]);
}

static void order_one(struct engine *en, unsigned worker, worker_order_fn *fn, void *arg)
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

static void free_dead_all(struct sa *const dead[HW_WORKERS_MAX])
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

static int make_workers(struct engine *en, struct err *e)
{
    cpu_set_t cores;
    unsigned n = usable_cores(&cores);
    for (unsigned i = 0; i < en->shared.workers; i++) {
        int cpu = n >= en->shared.workers ? nth_core(&cores, i) : -1;
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
    return rc == 0 ? make_workers(en, e) : rc;
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
    order_all(en, order_nothing, NULL);
    return 0;
}

static void routing_free(void *p)
{
    struct routing *r = p;
    if (r == NULL)
        return;
    fib_free(r->fib);
    free(r);
}

static void remove_link(struct engine *en, unsigned slot)
{
    struct order_link o = {.slot = slot};
    struct engine_link *l = &en->link[slot];
    order_all(en, order_link_remove, &o);
    for (unsigned i = 0; i < HW_TUNNELS_PER_LINK_MAX; i++) {
        if (o.gone[i] == NULL)
            continue;
        free(o.gone[i]);
        en->stats_used[l->stats_slot[i]] = false;
    }
    for (unsigned i = 0; i < HW_WORKERS_MAX; i++)
        free(o.link[i]);
    free_dead_all(o.dead);
    l->used = false;
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
            remove_link(en, slot);
    }
    unsigned started = en->started;
    order_all(en, order_stop, NULL);
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
    routing_free(snapshot_current(&en->routing));
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
    order_one(en, m->queue, order_attach_tun, &o);
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
    order_one(en, m->port_index % en->shared.workers, order_attach_udp, &o);
    if (o.rc != 0) {
        close(fd);
        return err_errno(e, -o.rc, "watch UDP port %u", m->port);
    }
    return 0;
}

/* ---- routing ---- */

static int find_link(const struct engine *en, const struct hw_id *id)
{
    for (unsigned i = 0; i < HW_LINKS_MAX; i++) {
        if (en->link[i].used && id_equal(&en->link[i].set.link, id))
            return (int)i;
    }
    return FIB_NO_SLOT;
}

static int slot_of(void *ctx, const struct hw_id *link)
{
    return find_link(ctx, link);
}

/* Builds the snapshot from the node, the FIB image and the set of links, and puts it in force. */
static int publish(struct engine *en, const void *image, size_t len, struct err *e)
{
    struct routing *r = calloc(1, sizeof *r);
    if (r == NULL)
        return err_set(e, HW_ENOMEM, "routing tables: out of memory");
    r->overlay4 = dp_addr_to_ip(&en->node.overlay4);
    r->overlay6 = dp_addr_to_ip(&en->node.overlay6);
    r->flow_seed = en->node.flow_seed;
    r->tunnel_seed = en->node.tunnel_seed;
    int rc = image != NULL ? fib_new(image, len, slot_of, en, &r->fib, e) : 0;
    if (rc != 0) {
        free(r);
        return rc;
    }
    rc = snapshot_replace(&en->routing, r, routing_free, WORKER_TIMEOUT_NS, e);
    if (rc != 0)
        end_stuck(e);
    return 0;
}

int engine_node_set(struct engine *en, const struct dp_node_set *m, struct err *e)
{
    en->node = *m;
    return publish(en, en->fib_image, en->fib_len, e);
}

static int read_all(int fd, uint8_t *to, size_t len, struct err *e)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = pread(fd, to + at, len - at, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, errno, "read the FIB file");
        if (n == 0)
            return err_set(e, HW_EINVAL, "the FIB file ends after %zu bytes", at);
        at += (size_t)n;
    }
    return 0;
}

/* The file is copied before it is looked at: whoever passed it may still write to it. */
static int load_fib(const struct dp_fib_commit *m, int fd, uint8_t **out, struct err *e)
{
    uint8_t *image = malloc(m->size);
    if (image == NULL)
        return err_set(e, HW_ENOMEM, "FIB of %llu bytes: out of memory",
                       (unsigned long long)m->size);
    int rc = read_all(fd, image, m->size, e);
    if (rc == 0)
        rc = dp_fib_validate(image, m->size, e);
    struct dp_fib_header h;
    memcpy(&h, image, sizeof h);
    if (rc == 0 && h.generation != m->generation)
        rc = err_set(e, HW_EINVAL, "FIB file is of another generation than the message says");
    if (rc != 0) {
        free(image);
        return rc;
    }
    *out = image;
    return 0;
}

int engine_fib_commit(struct engine *en, const struct dp_fib_commit *m, int fd, struct err *e)
{
    uint8_t *image = NULL;
    int rc = load_fib(m, fd, &image, e);
    close(fd);
    if (rc != 0)
        return rc;
    rc = publish(en, image, m->size, e);
    if (rc != 0) {
        free(image);
        return rc;
    }
    free(en->fib_image);
    en->fib_image = image;
    en->fib_len = m->size;
    return 0;
}

/* ---- links ---- */

static int free_stats_slot(struct engine *en)
{
    for (int i = 0; i < HW_TUNNELS_MAX; i++) {
        if (!en->stats_used[i])
            return i;
    }
    return -1;
}

static void free_order_link(struct engine *en, struct engine_link *l, struct order_link *o)
{
    for (unsigned i = 0; i < HW_TUNNELS_PER_LINK_MAX; i++) {
        if (o->fresh[i] != NULL || o->gone[i] != NULL)
            en->stats_used[l->stats_slot[i]] = false;
        free(o->fresh[i]);
        free(o->gone[i]);
    }
    for (unsigned i = 0; i < HW_WORKERS_MAX; i++)
        free(o->link[i]);
    free_dead_all(o->dead);
}

/* Memory for what the workers will add: tunnels from `have` on, and the link where it is new. */
static int prepare_link(struct engine *en, struct engine_link *l, unsigned have,
                        struct order_link *o, struct err *e)
{
    for (unsigned i = have; i < o->set.tunnels; i++) {
        int s = free_stats_slot(en);
        if (s < 0)
            return err_set(e, HW_ETOOBIG, "more than %u tunnels", HW_TUNNELS_MAX);
        o->fresh[i] = calloc(1, sizeof *o->fresh[i]);
        if (o->fresh[i] == NULL)
            return err_set(e, HW_ENOMEM, "out of memory");
        l->stats_slot[i] = (uint16_t)s;
        en->stats_used[s] = true;
        o->st[i] = &en->stats.tunnels[s];
    }
    for (unsigned i = 0; i < en->shared.workers && !l->used; i++) {
        o->link[i] = calloc(1, sizeof *o->link[i]);
        if (o->link[i] == NULL)
            return err_set(e, HW_ENOMEM, "out of memory");
    }
    return 0;
}

/* Ports or family differ: tunnels belong to other sockets, perhaps of other workers, and their keys
 * with them. */
static bool moves_tunnels(const struct dp_link_set *a, const struct dp_link_set *b)
{
    return a->port_offset != b->port_offset || a->local.family != b->local.family;
}

static int slot_for(struct engine *en, const struct dp_link_set *m, struct err *e)
{
    int slot = find_link(en, &m->link);
    if (slot != FIB_NO_SLOT) {
        if (moves_tunnels(&en->link[slot].set, m))
            remove_link(en, (unsigned)slot);
        return slot;
    }
    for (int i = 0; i < HW_LINKS_MAX; i++) {
        if (!en->link[i].used)
            return i;
    }
    return err_set(e, HW_ETOOBIG, "more than %u links", HW_LINKS_MAX);
}

int engine_link_set(struct engine *en, const struct dp_link_set *m, struct err *e)
{
    int slot = slot_for(en, m, e);
    if (slot < 0)
        return HW_ETOOBIG;
    struct engine_link *l = &en->link[slot];
    struct order_link o = {.slot = (unsigned)slot, .set = *m};
    int rc = prepare_link(en, l, l->used ? l->set.tunnels : 0, &o, e);
    bool is_new = !l->used;
    if (rc == 0) {
        order_all(en, order_link_set, &o);
        l->used = true;
        l->set = *m;
    }
    free_order_link(en, l, &o);
    /* The FIB may have named the link before it was there. */
    return rc == 0 && is_new ? publish(en, en->fib_image, en->fib_len, e) : rc;
}

int engine_link_remove(struct engine *en, const struct hw_id *link, struct err *e)
{
    int slot = find_link(en, link);
    if (slot == FIB_NO_SLOT)
        return 0;
    /* First out of the tables, so that no packet finds the slot when another link has it. */
    en->link[slot].used = false;
    int rc = publish(en, en->fib_image, en->fib_len, e);
    remove_link(en, (unsigned)slot);
    return rc;
}

/* ---- SAs ---- */

static int link_of(const struct engine *en, const struct hw_id *id, struct err *e)
{
    int slot = find_link(en, id);
    return slot != FIB_NO_SLOT ? slot : err_set(e, HW_ENOTFOUND, "no such link");
}

static void free_not_taken(struct order_sa *o)
{
    for (unsigned i = 0; i < HW_TUNNELS_PER_LINK_MAX; i++)
        sa_free(o->sa[i]);
}

static int make_sas(struct engine *en, const struct dp_sa_install *m, unsigned tunnels,
                    struct order_sa *o, struct err *e)
{
    for (unsigned i = 0; i < m->count; i++) {
        unsigned t = m->sa[i].tunnel;
        if (t >= tunnels)
            return err_set(e, HW_EINVAL, "link has no tunnel %u", t);
        int rc = sa_new(en->aead, m, i, clock_mono_ns(), &o->sa[t], e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* A refused installation leaves nothing of its epoch behind. */
static void take_back(struct engine *en, const struct order_sa *install, bool in)
{
    struct order_sa o = {.slot = install->slot, .epoch = install->epoch, .in = in, .out = !in};
    order_all(en, order_sa_retire, &o);
    free_dead_all(o.dead);
}

int engine_sa_install(struct engine *en, const struct dp_sa_install *m, struct err *e)
{
    int slot = link_of(en, &m->link, e);
    if (slot < 0)
        return slot;
    struct order_sa o = {.slot = (unsigned)slot, .peer_boot = m->peer_boot, .epoch = m->epoch};
    int rc = make_sas(en, m, en->link[slot].set.tunnels, &o, e);
    if (rc == 0)
        order_all(en, order_sa_install, &o);
    for (unsigned i = 0; rc == 0 && i < en->shared.workers; i++) {
        if (o.err[i].code != 0) {
            *e = o.err[i];
            rc = e->code;
        }
    }
    free_dead_all(o.dead);
    if (rc != 0 && rc != HW_ESTALE)
        take_back(en, &o, m->direction == DP_DIR_IN);
    free_not_taken(&o);
    return rc;
}

int engine_sa_switch(struct engine *en, const struct dp_sa_switch *m, struct err *e)
{
    int slot = link_of(en, &m->link, e);
    if (slot < 0)
        return slot;
    struct order_sa o = {.slot = (unsigned)slot, .epoch = m->epoch};
    order_all(en, order_sa_switch, &o);
    free_dead_all(o.dead);
    unsigned found = 0;
    for (unsigned i = 0; i < en->shared.workers; i++)
        found += o.found[i];
    return found != 0 ? 0 : err_set(e, HW_ENOTFOUND, "no tunnel has an outbound SA of this epoch");
}

int engine_sa_retire(struct engine *en, const struct dp_sa_retire *m, struct err *e)
{
    int slot = link_of(en, &m->link, e);
    if (slot < 0)
        return slot;
    struct order_sa o = {
        .slot = (unsigned)slot, .epoch = m->epoch, .in = m->in != 0, .out = m->out != 0};
    order_all(en, order_sa_retire, &o);
    free_dead_all(o.dead);
    return 0;
}

/* ---- telling ---- */

static int dump_room(struct engine *en, struct order_dump *o, struct err *e)
{
    size_t tunnels = 0;
    for (unsigned i = 0; i < HW_LINKS_MAX; i++)
        tunnels += en->link[i].used ? en->link[i].set.tunnels : 0;
    o->state = calloc(HW_LINKS_MAX, sizeof *o->state);
    bool ok = o->state != NULL;
    for (unsigned i = 0; i < en->shared.workers; i++) {
        o->sa[i] = calloc(tunnels * (TUNNEL_IN_MAX + 2) + 1, sizeof *o->sa[i]);
        o->udp[i] = calloc(2 * HW_PORTS_PER_GATEWAY, sizeof *o->udp[i]);
        ok = ok && o->sa[i] != NULL && o->udp[i] != NULL;
    }
    return ok ? 0 : err_set(e, HW_ENOMEM, "dump: out of memory");
}

static void dump_done(struct order_dump *o)
{
    free(o->state);
    for (unsigned i = 0; i < HW_WORKERS_MAX; i++) {
        free(o->sa[i]);
        free(o->udp[i]);
    }
}

static void emit_fds(const struct engine *en, const struct order_dump *o, engine_emit_fn *emit,
                     void *ctx)
{
    for (unsigned i = 0; i < en->shared.workers; i++) {
        if (o->tun[i].queues != 0)
            emit(ctx, DP_DUMP_TUN, &o->tun[i], sizeof o->tun[i]);
    }
    for (unsigned i = 0; i < en->shared.workers; i++) {
        for (unsigned k = 0; k < o->n_udp[i]; k++)
            emit(ctx, DP_DUMP_UDP, &o->udp[i][k], sizeof o->udp[i][k]);
    }
}

static void emit_links(const struct engine *en, const struct order_dump *o, engine_emit_fn *emit,
                       void *ctx)
{
    for (unsigned i = 0; i < HW_LINKS_MAX; i++) {
        if (!en->link[i].used)
            continue;
        struct dp_dump_link d = {.set = en->link[i].set};
        memcpy(d.state, o->state[i], sizeof d.state);
        emit(ctx, DP_DUMP_LINK, &d, sizeof d);
    }
    for (unsigned i = 0; i < en->shared.workers; i++) {
        for (unsigned k = 0; k < o->n[i]; k++)
            emit(ctx, DP_DUMP_SA, &o->sa[i][k], sizeof o->sa[i][k]);
    }
}

int engine_dump(struct engine *en, engine_emit_fn *emit, void *ctx, struct err *e)
{
    struct order_dump o = {0};
    int rc = dump_room(en, &o, e);
    if (rc == 0) {
        order_all(en, order_dump, &o);
        emit_fds(en, &o, emit, ctx);
        if (!id_is_zero(&en->node.gateway))
            emit(ctx, DP_DUMP_NODE, &en->node, sizeof en->node);
        emit_links(en, &o, emit, ctx);
        const struct routing *r = snapshot_current(&en->routing);
        struct dp_dump_fib f = {.generation = r->fib != NULL ? fib_generation(r->fib) : 0};
        emit(ctx, DP_DUMP_FIB, &f, sizeof f);
    }
    dump_done(&o);
    return rc;
}

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
    order_all(en, order_retell, NULL);
}
