#include "agent/control/config_apply.h"
#include "agent/control/config_plan.h"
#include "agent/control/dp_apply.h"
#include "agent/control/fib_image.h"
#include "agent/control/firewall/table.h"
#include "agent/control/interfaces.h"
#include "agent/control/kernel_apply.h"
#include "agent/control/kernel_state.h"
#include "agent/control/keying/keying.h"
#include "agent/control/link_mtu.h"
#include "agent/control/netlink/link.h"
#include "agent/control/settings.h"
#include "agent/control/sysctl.h"
#include "agent/control/tun_create.h"
#include "agent/control/tun_steering.h"
#include "common/clock.h"
#include "common/log.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Changes of the kernel come in swarms, our own among them: one look soon after the first, and no
 * two looks closer than the pause. */
#define SOON_NS  (30 * NS_PER_MS)
#define PAUSE_NS (500 * NS_PER_MS)
#define RETRY_NS (5 * NS_PER_S)
/* After a start the peers' MTUs and limits come in by and by: until then smaller route MTUs that
 * stand are left. */
#define GRACE_NS (10 * NS_PER_S)
/* An apply that takes longer waits for a dataplane that does not answer. */
#define SLOW_NS (15 * NS_PER_S)
/* Time that a peer has after a new connection to say its limits again. */
#define STALE_NS (5 * NS_PER_S)

struct config_apply {
    struct config_apply_params p;
    struct nl *nl;
    int monitor_fd;
    struct ev_io *monitor;
    struct ev_timer *timer; /* next look at what differs */
    uint64_t timer_ns;      /* when it is due; 0: not armed */
    uint64_t looked_ns;     /* last look */
    struct dp_apply *dp_apply;

    struct gateway_state found, want;
    struct config_plan plan;
    bool dp_known;     /* the dataplane's part of `found` is what the present connection has */
    bool dp_fresh;     /* keying has not yet been told of this connection */
    bool waiting_dump; /* the operation goes on when the dump comes */
    struct tun_queues queues;
    bool dumped_queues;   /* the dump just taken names a queue for every worker */
    int attached_ifindex; /* device of which the dataplane holds all queues; 0: none */
    int tun_index;

    struct stored_config *current; /* in force */
    struct firewall_table *firewall;
    struct stored_config *filtered; /* whose ruleset the kernel has; NULL: not known */
    struct link_mtu *mtus;
    struct node node;             /* our addresses at the last look */
    uint64_t grace_ns;            /* end of the time after the start */
    struct ev_timer *stale_timer; /* limits beyond peers that were not said again */

    bool busy, again, stopped;
    uint64_t busy_ns; /* since when */
    struct operation {
        struct stored_config *goal;
        config_apply_fn done; /* NULL: a mere look at what differs */
        void *arg;
        uint64_t revision; /* that was asked for */
        bool rollback;
        struct err cause; /* of the rollback */
    } op;
    char problem[ERR_TEXT_MAX];
};

static void run(struct config_apply *a);

/* An earlier look that is due already stays. */
static void look_again(struct config_apply *a, uint64_t delay_ns)
{
    uint64_t now = evloop_now(a->p.loop), due = now + delay_ns;
    if (a->looked_ns && due < a->looked_ns + PAUSE_NS)
        due = a->looked_ns + PAUSE_NS;
    if (a->timer_ns && a->timer_ns <= due)
        return;
    a->timer_ns = due;
    evloop_timer_arm(a->timer, due > now ? due - now : 0);
}

/* A restarted agent does not know yet what the former one was told. */
static void keep_smaller_mtus(struct config_apply *a)
{
    for (size_t i = 0; i < a->want.n_routes; i++) {
        struct state_route *w = &a->want.routes[i];
        const struct state_route *f =
            a->found.n_routes
                ? bsearch(w, a->found.routes, a->found.n_routes, sizeof *w, state_route_cmp)
                : NULL;
        if (f && f->tun && w->tun && f->mtu > 0 && f->mtu < w->mtu)
            w->mtu = f->mtu;
    }
}

static int prepare(struct config_apply *a, struct err *e)
{
    const struct gateway_config *c = &a->op.goal->config;
    int rc = kernel_state_read(a->nl, &a->found, e);
    if (rc < 0 || (rc = link_mtu_find(a->mtus, a->nl, c, e)) < 0)
        return rc;
    gateway_state_done(&a->want);
    /* Without interfaces (they may come later) the links' own addresses have to do. */
    struct gateway_facts facts = {
        .node = interfaces_read(a->nl, a->p.settings, NULL, &a->node, NULL) == 0 ? &a->node : NULL};
    link_mtu_facts(a->mtus, &facts);
    rc = gateway_state_of_config(c, a->op.goal->doc.revision, &facts, &a->want, e);
    if (rc < 0)
        return rc;
    if (evloop_now(a->p.loop) < a->grace_ns)
        keep_smaller_mtus(a);
    if (!sysctl_has_ipv6())
        gateway_state_drop_ipv6(&a->want);
    a->tun_index = a->found.tun_index;
    if (a->dumped_queues && a->found.tun_exists)
        a->attached_ifindex = a->tun_index;
    a->dumped_queues = false;
    config_plan_done(&a->plan);
    return config_plan_make(&a->found, &a->want, &a->plan, e);
}

static int kernel_steps(struct config_apply *a, int first, int beyond, struct err *e)
{
    for (size_t i = 0; i < a->plan.n_steps; i++) {
        const struct plan_step *s = &a->plan.steps[i];
        if ((int)s->kind < first || (int)s->kind >= beyond)
            continue;
        /* Without a new config it is something that somebody else has changed. */
        log_write(a->op.done ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO,
                  "%s rev=%" PRIu64 " step=\"%s\" index=%zu", a->op.done ? "apply" : "adjust",
                  a->op.goal->doc.revision, plan_step_name(s->kind), s->index);
        int rc = kernel_apply_step(a->nl, s, &a->found, &a->want, a->p.settings->dataplane_uid,
                                   &a->tun_index, e);
        if (rc < 0) {
            (void)err_wrap(e, "%s", plan_step_name(s->kind));
            return rc;
        }
    }
    return 0;
}

/* Without it traffic flows all the same, by the kernel's own choice of queues. */
static void steer(const struct config_apply *a)
{
    struct err e;
    if (a->queues.n > 1 && tun_steering_attach(a->queues.fd[0], &e) < 0)
        log_warn(HW_TUN_NAME " is not steered: %s", e.text);
}

/* Gives the dataplane one queue for each worker unless it has them. Queues that we hold are handed
 * over again after its restart; otherwise all are opened anew, in order, on a device that nobody
 * else is attached to. */
static int attach_queues(struct config_apply *a, struct err *e)
{
    const struct dp_hello *hello = dp_client_hello(a->p.dp);
    struct nl_link l;
    int rc = nl_link_get(a->nl, HW_TUN_NAME, &l, e);
    if (rc < 0)
        return rc;
    if (a->attached_ifindex == a->tun_index && l.tun.queues >= hello->workers)
        return 0;
    a->attached_ifindex = 0;
    bool held = a->queues.n == hello->workers && a->queues.ifindex == a->tun_index &&
                l.tun.queues == hello->workers;
    if (!held) {
        tun_queues_close(&a->queues);
        if ((rc = nl_link_get(a->nl, HW_TUN_NAME, &l, e)) < 0)
            return rc;
        if (l.tun.queues > 0) {
            log_warn(HW_TUN_NAME " has %u queues of an unknown order, making it anew",
                     l.tun.queues);
            if ((rc = nl_link_delete(a->nl, a->tun_index, e)) < 0)
                return rc;
            return err_set(e, HW_EAGAIN, HW_TUN_NAME " is made anew");
        }
        if ((rc = tun_queues_open(&a->queues, hello->workers, a->tun_index, e)) < 0)
            return rc;
        steer(a);
    }
    log_info(HW_TUN_NAME " queues=%u %s", a->queues.n, held ? "handed over again" : "opened");
    dp_apply_tun(a->dp_apply, &a->queues, a->want.tun_mtu);
    return 0;
}

static int tell_peer(void *arg, const struct hw_id *link, const struct prefix *p, uint32_t mtu)
{
    return keying_announce_mtu(arg, link, p, mtu);
}

/* What the peers should know of the way beyond us; those without a connection hear it once they
 * have one. */
static void tell_peers(struct config_apply *a)
{
    const struct gateway_config *c = &a->current->config;
    struct interface_roles roles;
    struct nl_link site = {.mtu = 0};
    if (interfaces_roles(a->nl, a->p.settings, &roles, NULL) == 0)
        (void)nl_link_get(a->nl, roles.site, &site, NULL);
    link_mtu_tell(a->mtus, c, site.mtu, tell_peer, a->p.keying);
}

static void succeed(struct config_apply *a)
{
    struct operation op = a->op;
    a->op = (struct operation){0};
    a->busy = false;
    if (op.goal != a->current) {
        stored_config_unref(a->current);
        a->current = stored_config_ref(op.goal);
        link_mtu_forget_others(a->mtus, &a->current->config);
    }
    stored_config_unref(op.goal);
    struct err e = {0};
    struct gateway_facts facts;
    link_mtu_facts(a->mtus, &facts);
    if (keying_set_config(a->p.keying, &a->current->config, facts.own_mtus, &e) < 0)
        log_warn_limited("keying: %s", e.text);
    tell_peers(a);
    if (a->again || (!a->dp_known && dp_client_connected(a->p.dp)))
        look_again(a, SOON_NS);
    if (op.rollback)
        log_warn("back at the former config rev=%" PRIu64, a->current->doc.revision);
    if (op.done)
        op.done(op.arg, op.revision, op.rollback ? &op.cause : NULL);
}

static void give_up(struct config_apply *a, const struct err *why)
{
    struct operation op = a->op;
    a->op = (struct operation){0};
    a->busy = false;
    stored_config_unref(op.goal);
    (void)snprintf(a->problem, sizeof a->problem, "%s", why->text);
    if (a->current)
        look_again(a, RETRY_NS);
    if (op.done)
        op.done(op.arg, op.revision, op.rollback ? &op.cause : why);
}

static void on_dump(void *arg, int status, const struct dp_dump *dump);

/* A dataplane whose state is not known is asked first, and on_dump() goes on. False: there is none
 * to ask. */
static bool ask_dataplane(struct config_apply *a)
{
    if (a->dp_known || !dp_client_connected(a->p.dp))
        return false;
    int rc = dp_client_dump(a->p.dp, on_dump, a, NULL);
    a->waiting_dump = rc == 0 || rc == HW_EAGAIN; /* one is under way already */
    return a->waiting_dump;
}

/* All or nothing: what was in force before is brought back. What a dataplane that refused something
 * has, only a dump can tell. */
static void fail(struct config_apply *a, const struct err *why)
{
    log_warn_limited("apply rev=%" PRIu64 " failed: %s", a->op.goal->doc.revision, why->text);
    if (!a->op.done || a->op.rollback || !a->current || a->op.goal == a->current) {
        give_up(a, why);
        return;
    }
    a->op.rollback = true;
    a->op.cause = *why;
    stored_config_unref(a->op.goal);
    a->op.goal = stored_config_ref(a->current);
    if (!ask_dataplane(a))
        run(a);
}

/* The last part: what is no longer wanted goes, and then forwarding may be on. */
static void finish(struct config_apply *a)
{
    struct err e = {0};
    struct interface_roles roles;
    if (kernel_steps(a, PLAN_FIRST_AFTER, INT_MAX, &e) < 0) {
        fail(a, &e);
        return;
    }
    a->problem[0] = '\0';
    if (interfaces_roles(a->nl, a->p.settings, &roles, &e) < 0 ||
        sysctl_apply(a->p.settings->state_dir, &a->p.boot, &roles, &e) < 0) {
        log_warn_limited("system: %s", e.text);
        (void)snprintf(a->problem, sizeof a->problem, "%s", e.text);
        look_again(a, RETRY_NS);
    }
    succeed(a);
}

/* The dataplane now has what was wanted. */
static void adopt_dataplane(struct config_apply *a)
{
    struct gateway_state *f = &a->found, *w = &a->want;
    struct dp_link_set *links = malloc((w->n_links + 1) * sizeof *links);
    unsigned char *fib = malloc(w->fib_len);
    if (!links || !fib) {
        free(links);
        free(fib);
        a->dp_known = false; /* the next dump tells */
        return;
    }
    if (w->n_links)
        memcpy(links, w->links, w->n_links * sizeof *links);
    memcpy(fib, w->fib, w->fib_len);
    /* An equal table was not committed: there the older generation stands on. */
    if (!fib_image_same(f->fib, f->fib_len, w->fib, w->fib_len))
        f->fib_generation = w->fib_generation;
    free(f->links);
    free(f->fib);
    f->links = links;
    f->n_links = w->n_links;
    f->fib = fib;
    f->fib_len = w->fib_len;
    f->has_node = w->has_node;
    f->node = w->node;
    for (size_t i = 0; i < HW_PORTS_PER_GATEWAY; i++) {
        f->udp.v4[i] = w->udp.v4[i] ? w->udp.v4[i] : f->udp.v4[i];
        f->udp.v6[i] = w->udp.v6[i] ? w->udp.v6[i] : f->udp.v6[i];
    }
    if (a->queues.n)
        a->attached_ifindex = a->tun_index;
}

static void on_dataplane(void *arg, int status, const struct err *why)
{
    struct config_apply *a = arg;
    if (a->stopped)
        return;
    if (status == 0) {
        adopt_dataplane(a);
    } else if (status == HW_ECLOSED) {
        a->dp_known = false; /* the next one gets it all */
    } else {
        a->dp_known = false;
        a->attached_ifindex = 0;
        fail(a, why);
        return;
    }
    finish(a);
}

/* Before any way through hawser0 is new: nothing goes there that its rules refuse. */
static int apply_firewall(struct config_apply *a, struct err *e)
{
    if (a->filtered == a->op.goal)
        return 0;
    int rc = firewall_table_apply(a->firewall, &a->op.goal->config.firewall, e);
    if (rc < 0)
        return rc;
    stored_config_unref(a->filtered);
    a->filtered = stored_config_ref(a->op.goal);
    return 0;
}

/* One way from what is to what should be, up to the point where the dataplane's answers are waited
 * for. */
static void run(struct config_apply *a)
{
    struct err e = {0};
    a->again = false;
    a->looked_ns = evloop_now(a->p.loop);
    /* What closes (rule, unreachable routes) never waits for the firewall: where it can't be
     * loaded, other sites' packets must not leave by the machine's own routes. */
    if (prepare(a, &e) < 0 || kernel_steps(a, 0, PLAN_ROUTE_SET, &e) < 0 ||
        apply_firewall(a, &e) < 0 ||
        kernel_steps(a, PLAN_ROUTE_SET, PLAN_FIRST_DATAPLANE, &e) < 0) {
        fail(a, &e);
        return;
    }
    if (!a->dp_known) {
        finish(a);
        return;
    }
    dp_apply_begin(a->dp_apply);
    int rc = attach_queues(a, &e);
    for (size_t i = 0; rc == 0 && i < a->plan.n_steps; i++) {
        const struct plan_step *s = &a->plan.steps[i];
        if (s->kind >= PLAN_FIRST_DATAPLANE && s->kind < PLAN_FIRST_AFTER)
            dp_apply_step(a->dp_apply, s, &a->found, &a->want);
    }
    int status;
    bool idle = dp_apply_end(a->dp_apply, &status, &e);
    if (rc == HW_EAGAIN) {
        /* hawser0 is gone on purpose; nobody is attached to the next one. */
        run(a);
    } else if (rc < 0) {
        fail(a, &e);
    } else if (idle) {
        on_dataplane(a, status, &e);
    }
}

static void begin(struct config_apply *a, struct stored_config *goal, config_apply_fn done,
                  void *arg)
{
    a->busy = true;
    a->busy_ns = evloop_now(a->p.loop);
    a->op = (struct operation){
        .goal = stored_config_ref(goal), .done = done, .arg = arg, .revision = goal->doc.revision};
    /* After something was refused only a dump tells what the dataplane has. */
    if (!ask_dataplane(a))
        run(a);
}

int config_apply_start(struct config_apply *a, struct stored_config *config, config_apply_fn done,
                       void *arg, struct err *e)
{
    if (a->busy)
        return err_set(e, HW_EAGAIN, "another config is being applied");
    begin(a, config, done, arg);
    return 0;
}

static void on_timer(void *arg)
{
    struct config_apply *a = arg;
    a->timer_ns = 0;
    if (a->busy)
        a->again = true;
    else if (a->current)
        begin(a, a->current, NULL, NULL);
}

static void on_kernel_change(void *arg, int fd, unsigned events)
{
    struct config_apply *a = arg;
    (void)events;
    if (nl_monitor_drain(fd))
        look_again(a, SOON_NS);
}

/* What this dataplane has. After a restart of the agent the MTU of a link there is the smaller of
 * both ends; the peer says its own again with the next epoch. */
static void learn(struct config_apply *a, const struct dp_dump *dump)
{
    struct err e = {0};
    if (dp_apply_found(dump, &a->found, &e) < 0) {
        log_warn("dump of the dataplane: %s", e.text);
        return;
    }
    a->dp_known = true;
    a->dumped_queues = dump->n_tuns == dp_client_hello(a->p.dp)->workers;
    for (size_t i = 0; i < dump->n_links; i++)
        if (!link_mtu_peer_known(a->mtus, &dump->links[i].set.link))
            (void)link_mtu_peer(a->mtus, &dump->links[i].set.link, dump->links[i].set.mtu);
}

static void on_dump(void *arg, int status, const struct dp_dump *dump)
{
    struct config_apply *a = arg;
    if (a->stopped)
        return;
    bool waiting = a->waiting_dump;
    a->waiting_dump = false;
    if (status == 0)
        learn(a, dump);
    else if (status != HW_ECLOSED)
        log_warn("dump of the dataplane: %s", err_name(status));
    if (waiting)
        run(a);
    else if (a->busy)
        a->again = true;
    else if (status == 0 && a->current)
        begin(a, a->current, NULL, NULL);
    /* The links' LINK_SET are on their way, so keying may speak of them. */
    if (status == 0 && a->dp_fresh) {
        a->dp_fresh = false;
        keying_dataplane_up(a->p.keying, dp_client_hello(a->p.dp), dump);
    }
}

void config_apply_dp_connected(struct config_apply *a, bool new_boot)
{
    struct err e = {0};
    a->dp_known = false;
    a->dp_fresh = true;
    if (new_boot)
        a->attached_ifindex = 0;
    if (dp_client_dump(a->p.dp, on_dump, a, &e) < 0)
        log_warn("dump of the dataplane: %s", e.text);
}

void config_apply_dp_lost(struct config_apply *a)
{
    a->dp_known = false;
    a->dp_fresh = false;
}

void config_apply_peer_mtu(struct config_apply *a, const struct hw_id *link, uint32_t peer_mtu)
{
    if (peer_mtu && link_mtu_peer(a->mtus, link, peer_mtu))
        look_again(a, 0);
}

void config_apply_onward(struct config_apply *a, const struct hw_id *link, const struct prefix *p,
                         uint32_t mtu)
{
    if (a->current && link_mtu_onward(a->mtus, &a->current->config, link, p, mtu))
        look_again(a, 0);
}

static void on_stale_timer(void *arg)
{
    struct config_apply *a = arg;
    uint64_t now = evloop_now(a->p.loop);
    if (now < a->grace_ns) {
        evloop_timer_arm(a->stale_timer, a->grace_ns - now);
        return;
    }
    if (a->current)
        (void)link_mtu_drop_stale(a->mtus, &a->current->config);
    look_again(a, 0);
}

void config_apply_link_connection(struct config_apply *a, const struct hw_id *link, uint64_t epoch)
{
    if (!link_mtu_connection(a->mtus, link, epoch))
        return;
    evloop_timer_arm(a->stale_timer, STALE_NS);
    look_again(a, 0); /* and tell the peer */
}

const struct stored_config *config_apply_current(const struct config_apply *a)
{
    return a->current;
}

uint32_t config_apply_link_mtu(const struct config_apply *a, const struct hw_id *link)
{
    for (size_t i = 0; i < a->want.n_links; i++)
        if (id_equal(&a->want.links[i].link, link))
            return a->want.links[i].mtu;
    return 0;
}

void config_apply_firewall_report(struct config_apply *a, struct firewall_report *r)
{
    struct err e = {0};
    int rc = firewall_table_look(a->firewall, evloop_now(a->p.loop), &e);
    if (rc == HW_ENOTFOUND) {
        log_warn("firewall: somebody took the table or its rules away");
        stored_config_unref(a->filtered);
        a->filtered = NULL;
        look_again(a, SOON_NS);
    } else if (rc < 0) {
        log_warn_limited("firewall: %s", e.text);
    }
    if (firewall_table_report(a->firewall, r, &e) < 0)
        log_warn_limited("firewall: %s", e.text);
}

void config_apply_firewall_told(struct config_apply *a)
{
    firewall_table_told(a->firewall);
}

const char *config_apply_problem(const struct config_apply *a)
{
    if (a->busy && evloop_now(a->p.loop) - a->busy_ns > SLOW_NS)
        return "the dataplane does not answer";
    return a->problem;
}

int config_apply_new(const struct config_apply_params *p, struct config_apply **out, struct err *e)
{
    struct config_apply *a = calloc(1, sizeof *a);
    if (!a)
        return err_set(e, HW_ENOMEM, "out of memory");
    a->p = *p;
    a->monitor_fd = -1;
    int rc;
    if ((rc = nl_open(&a->nl, e)) < 0 || (rc = link_mtu_new(&a->mtus, e)) < 0 ||
        (rc = firewall_table_new(&a->firewall, e)) < 0 ||
        (rc = nl_monitor_open(&a->monitor_fd, e)) < 0 ||
        (rc = dp_apply_new(p->dp, on_dataplane, a, &a->dp_apply, e)) < 0) {
        config_apply_free(a);
        return rc;
    }
    a->monitor = evloop_io_add(p->loop, a->monitor_fd, EV_READ, on_kernel_change, a);
    a->timer = evloop_timer_add(p->loop, on_timer, a);
    a->stale_timer = evloop_timer_add(p->loop, on_stale_timer, a);
    if (!a->monitor || !a->timer || !a->stale_timer) {
        config_apply_free(a);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    a->grace_ns = evloop_now(p->loop) + GRACE_NS;
    evloop_timer_arm(a->stale_timer, GRACE_NS);
    *out = a;
    return 0;
}

void config_apply_stop(struct config_apply *a)
{
    a->stopped = true;
}

void config_apply_free(struct config_apply *a)
{
    if (!a)
        return;
    if (a->monitor)
        evloop_io_remove(a->monitor);
    if (a->timer)
        evloop_timer_remove(a->timer);
    if (a->stale_timer)
        evloop_timer_remove(a->stale_timer);
    if (a->monitor_fd >= 0)
        (void)close(a->monitor_fd);
    dp_apply_free(a->dp_apply);
    tun_queues_close(&a->queues);
    stored_config_unref(a->op.goal);
    stored_config_unref(a->current);
    gateway_state_done(&a->found);
    gateway_state_done(&a->want);
    config_plan_done(&a->plan);
    link_mtu_free(a->mtus);
    firewall_table_free(a->firewall);
    stored_config_unref(a->filtered);
    nl_close(a->nl);
    free(a);
}
