#include "agent/dataplane/tunnel.h"

#include "agent/dataplane/burst.h"
#include "agent/dataplane/esp_out.h"
#include "agent/dataplane/stamp.h"
#include "agent/dataplane/worker.h"
#include "common/clock.h"
#include <string.h>

/* How often a tunnel is looked at that is not probed, for the lifetimes of its SAs. */
#define IDLE_TICK_NS NS_PER_S

void tunnel_init(struct tunnel *t, struct link *l, unsigned index, struct dp_stats_tunnel *st,
                 uint64_t now_ns)
{
    t->link = l;
    t->index = (uint16_t)index;
    t->st = st;
    t->port_index = (uint8_t)((l->set.port_offset + index) % HW_PORTS_PER_GATEWAY);
    liveness_init(&t->live, now_ns);
    t->told_ns = t->live.since_ns;
    t->told_state = t->live.state;
    t->told_reason = t->live.reason;
    t->tick_ns = UINT64_MAX;
}

static void due_at(struct worker *w, struct tunnel *t, uint64_t ns)
{
    if (ns < t->tick_ns)
        t->tick_ns = ns;
    if (ns < w->next_tick_ns)
        w->next_tick_ns = ns;
}

/* After every change of liveness: next hops, counters, the agent. */
static void state_changed(struct worker *w, struct tunnel *t)
{
    struct link *l = t->link;
    l->n_live = 0;
    for (unsigned i = 0; i < l->n_owned; i++)
        l->n_live += tunnel_usable(l->owned[i]) ? 1 : 0;
    live_map_set(w->shared->live, l->slot, w->index, l->n_live != 0);
    stats_set32(&t->st->state, t->live.state);
    stats_set32(&t->st->reason, t->live.reason);
    stats_set(&t->st->state_mono_ns, t->live.since_ns);
    tunnel_report(w, t);
}

/* A tunnel in a state NO_SA for good stops; one with everything it needs starts. */
static void review(struct worker *w, struct tunnel *t)
{
    uint64_t since = t->live.since_ns;
    uint8_t before = t->live.state;
    if (!t->link->set.enabled)
        liveness_stop(&t->live, DP_REASON_DISABLED, w->now_ns);
    else if (t->out == NULL)
        liveness_stop(&t->live, DP_REASON_NO_SA, w->now_ns);
    else
        liveness_start(&t->live, w->now_ns);
    due_at(w, t, t->live.next_ns);
    if (t->live.since_ns != since || t->live.state != before)
        state_changed(w, t);
}

void tunnel_open(struct worker *w, struct tunnel *t)
{
    struct dp_stats_tunnel *st = t->st;
    memset(st, 0, sizeof *st);
    st->tunnel = t->index;
    st->worker = (uint16_t)w->index;
    st->link = t->link->set.link;
    stats_set32(&st->state, t->live.state);
    stats_set32(&st->reason, t->live.reason);
    stats_set(&st->state_mono_ns, t->live.since_ns);
    /* Last, so that a reader who sees the slot in use sees whose it is. */
    __atomic_store_n(&st->used, 1, __ATOMIC_RELEASE);
}

/* Another path has to prove itself anew, even under the same keys. */
static void set_path(struct worker *w, struct tunnel *t)
{
    const struct link *l = t->link;
    t->sock = &w->sock[l->local.family == 4 ? 0 : 1][t->port_index];
    udp_path_set(&t->path, &l->local, &l->remote,
                 (uint16_t)(l->set.remote_port_base + t->port_index));
    if (t->configured)
        liveness_stop(&t->live, DP_REASON_NO_ANSWER, w->now_ns);
    t->configured = true;
}

static bool same_path(const struct dp_link_set *a, const struct dp_link_set *b)
{
    return memcmp(&a->local, &b->local, sizeof a->local) == 0 &&
           memcmp(&a->remote, &b->remote, sizeof a->remote) == 0 &&
           a->remote_port_base == b->remote_port_base;
}

void tunnel_configure(struct worker *w, struct tunnel *t, const struct dp_link_set *old)
{
    const struct link *l = t->link;
    if (!t->configured || !same_path(old, &l->set))
        set_path(w, t);
    liveness_settings(&t->live, l->set.interval_ms, l->set.missed);
    stats_set(&t->st->mtu, l->set.mtu);
    review(w, t);
}

static void end_sa(struct worker *w, struct sa **place)
{
    struct sa *sa = *place;
    if (sa == NULL)
        return;
    *place = NULL;
    if (sa->direction == DP_DIR_IN)
        sa_table_remove(&w->sas, sa);
    worker_bury(w, sa);
}

/* Inbound SA `i` ends and the later ones move up. */
static void end_in(struct worker *w, struct tunnel *t, unsigned i)
{
    end_sa(w, &t->in[i]);
    for (; i + 1 < TUNNEL_IN_MAX; i++) {
        t->in[i] = t->in[i + 1];
        t->in[i + 1] = NULL;
    }
}

void tunnel_close(struct worker *w, struct tunnel *t)
{
    tunnel_retire(w, t, 0, true, true);
    stats_set32(&t->st->used, 0);
}

static int install_in(struct worker *w, struct tunnel *t, struct sa *sa, struct err *e)
{
    if (t->in[0] != NULL && sa->epoch <= t->in[0]->epoch)
        return err_set(e, HW_ESTALE, "tunnel %u: epoch %llu is not newer", t->index,
                       (unsigned long long)sa->epoch);
    if (sa_table_add(&w->sas, sa) != 0)
        return err_set(e, HW_ECONFLICT, "tunnel %u: SPI %08x is in use", t->index, sa->spi);
    end_sa(w, &t->in[TUNNEL_IN_MAX - 1]);
    memmove(&t->in[1], &t->in[0], sizeof t->in - sizeof t->in[0]);
    t->in[0] = sa;
    return 0;
}

static int install_out(struct worker *w, struct tunnel *t, struct sa *sa, struct err *e)
{
    const struct sa *newest = t->out_next != NULL ? t->out_next : t->out;
    if (newest != NULL && sa->epoch <= newest->epoch)
        return err_set(e, HW_ESTALE, "tunnel %u: epoch %llu is not newer", t->index,
                       (unsigned long long)sa->epoch);
    end_sa(w, &t->out_next);
    t->out_next = sa;
    return 0;
}

int tunnel_install(struct worker *w, struct tunnel *t, struct sa *sa, struct err *e)
{
    int rc = sa->direction == DP_DIR_IN ? install_in(w, t, sa, e) : install_out(w, t, sa, e);
    if (rc != 0)
        return rc;
    sa->owner = t;
    due_at(w, t, w->now_ns + IDLE_TICK_NS);
    return 0;
}

bool tunnel_switch(struct worker *w, struct tunnel *t, uint64_t epoch)
{
    if (t->out_next != NULL && t->out_next->epoch == epoch) {
        end_sa(w, &t->out);
        t->out = t->out_next;
        t->out_next = NULL;
        stats_set(&t->st->tx_epoch, epoch);
        review(w, t);
    }
    return t->out != NULL && t->out->epoch == epoch;
}

static bool is_epoch(const struct sa *sa, uint64_t epoch)
{
    return sa != NULL && (epoch == 0 || sa->epoch == epoch);
}

void tunnel_retire(struct worker *w, struct tunnel *t, uint64_t epoch, bool in, bool out)
{
    if (in) {
        for (unsigned i = TUNNEL_IN_MAX; i-- > 0;) {
            if (is_epoch(t->in[i], epoch))
                end_in(w, t, i);
        }
    }
    if (out && is_epoch(t->out_next, epoch))
        end_sa(w, &t->out_next);
    if (out && is_epoch(t->out, epoch)) {
        end_sa(w, &t->out);
        stats_set(&t->st->tx_epoch, 0);
    }
    review(w, t);
}

static bool of_other_boot(const struct sa *sa, const struct hw_id *boot)
{
    return sa != NULL && !id_equal(&sa->peer_boot, boot);
}

void tunnel_peer_boot(struct worker *w, struct tunnel *t, const struct hw_id *boot)
{
    for (unsigned i = TUNNEL_IN_MAX; i-- > 0;) {
        if (of_other_boot(t->in[i], boot))
            end_in(w, t, i);
    }
    if (of_other_boot(t->out_next, boot))
        end_sa(w, &t->out_next);
    if (!of_other_boot(t->out, boot))
        return;
    end_sa(w, &t->out);
    stats_set(&t->st->tx_epoch, 0);
    liveness_stop(&t->live, DP_REASON_PEER_BOOT, w->now_ns);
    state_changed(w, t);
}

static bool tell_sa(struct worker *w, const struct sa *sa, unsigned type)
{
    struct worker_event *ev = worker_event(w, type);
    if (ev == NULL)
        return false;
    ev->sa = (struct dp_sa_event){.link = sa->link,
                                  .epoch = sa->epoch,
                                  .spi = sa->spi,
                                  .tunnel = sa->tunnel,
                                  .direction = sa->direction};
    worker_event_done(w);
    return true;
}

/* What the agent can be told of an SA's events; what found no room comes back for another try. */
static void tell_sa_events(struct worker *w, struct sa *sa)
{
    static const struct {
        uint8_t event;
        uint16_t type;
    } kinds[] = {{SA_EVENT_FIRST, DP_SA_FIRST_RX}, {SA_EVENT_SOFT, DP_SA_SOFT_LIMIT}};
    uint8_t events = sa_take_events(sa);
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if ((events & kinds[i].event) && tell_sa(w, sa, kinds[i].type))
            events = (uint8_t)(events & ~kinds[i].event);
    }
    sa->events |= events;
}

/* The SA is over: by bytes, packets, sequence numbers or time. The agent also sees it in a dump,
 * should the event find no room. */
static void expire_sa(struct worker *w, struct tunnel *t, struct sa *sa)
{
    (void)tell_sa(w, sa, DP_SA_EXPIRED);
    if (sa == t->out) {
        end_sa(w, &t->out);
        stats_set(&t->st->tx_epoch, 0);
    } else if (sa == t->out_next) {
        end_sa(w, &t->out_next);
    } else {
        for (unsigned i = 0; i < TUNNEL_IN_MAX; i++) {
            if (t->in[i] == sa) {
                end_in(w, t, i);
                break;
            }
        }
    }
    review(w, t);
}

void tunnel_sa_events(struct worker *w, struct sa *sa)
{
    struct tunnel *t = sa->owner;
    if (sa->events & SA_EVENT_FIRST) {
        stats_set(&t->st->rx_epoch, sa->epoch);
        (void)tunnel_switch(w, t, sa->epoch);
    }
    bool hard = (sa->events & SA_EVENT_HARD) != 0;
    tell_sa_events(w, sa);
    if (hard)
        expire_sa(w, t, sa);
}

/* NAT changes address and port, never the family, which the link's socket is bound to. */
void tunnel_move(struct worker *w, struct tunnel *t, const union udp_sockaddr *from)
{
    if (from->sa.sa_family != t->path.remote.sa.sa_family)
        return;
    burst_send(w, t);
    t->path.remote = *from;
    t->moved = true;
    tunnel_report(w, t);
}

static void send_probe(struct worker *w, struct tunnel *t)
{
    const struct routing *r = w->routing;
    const struct link *l = t->link;
    bool v4 = r->overlay4.family != 0 && l->peer_overlay4.family != 0;
    const struct ipaddr *from = v4 ? &r->overlay4 : &r->overlay6;
    const struct ipaddr *to = v4 ? &l->peer_overlay4 : &l->peer_overlay6;
    if (from->family == 0 || to->family == 0 || t->sock->fd < 0)
        return;
    uint8_t pkt[STAMP_PACKET_MIN + ESP_TAIL_MAX];
    uint32_t seq = liveness_sent(&t->live, clock_mono_ns());
    size_t len = stamp_test(pkt, (from->family == 4 ? 20u : 40u) + 8u + STAMP_LEN, from, to, seq,
                            (uint16_t)(t->index + 1));
    uint8_t *dst = burst_reserve(w, t, esp_out_len(len), 0);
    if (dst == NULL || len == 0)
        return;
    uint8_t next = from->family == 4 ? IP_PROTO_IPV4_IN : IP_PROTO_IPV6_IN;
    enum drop_reason why = esp_out_seal(t->out, pkt, len, next, dst);
    if (why != DROP_NONE) {
        worker_drop(w, why);
        return;
    }
    burst_commit(w, t, esp_out_len(len), 0);
    stats_add(&t->st->probes_sent, 1);
}

/* Ends what has lived its time. */
static void check_lifetimes(struct worker *w, struct tunnel *t)
{
    struct sa *all[TUNNEL_IN_MAX + 2] = {t->out, t->out_next};
    memcpy(all + 2, t->in, sizeof t->in);
    for (unsigned i = 0; i < TUNNEL_IN_MAX + 2; i++) {
        if (all[i] == NULL)
            continue;
        if (w->now_ns >= all[i]->expires_ns)
            expire_sa(w, t, all[i]);
        else
            due_at(w, t, w->now_ns + IDLE_TICK_NS);
    }
}

void tunnel_tick(struct worker *w, struct tunnel *t)
{
    t->tick_ns = UINT64_MAX;
    check_lifetimes(w, t);
    uint8_t before = t->live.state;
    uint32_t lost;
    bool probe = liveness_tick(&t->live, w->now_ns, &lost);
    if (lost != 0)
        stats_add(&t->st->probes_lost, lost);
    if (t->live.state != before)
        state_changed(w, t);
    if (probe && t->out != NULL) {
        send_probe(w, t);
        if (t->out != NULL && t->out->events != 0)
            tunnel_sa_events(w, t->out);
    }
    due_at(w, t, t->live.next_ns);
}

bool tunnel_answered(struct worker *w, struct tunnel *t, uint32_t seq)
{
    uint8_t before = t->live.state;
    uint64_t rtt_ns;
    if (!liveness_answered(&t->live, seq, clock_mono_ns(), &rtt_ns))
        return false;
    uint64_t us = rtt_ns / NS_PER_US;
    stats_add(&t->st->probes_answered, 1);
    stats_set(&t->st->rtt_us_last, us);
    stats_add(&t->st->rtt_us_sum, us);
    if (t->st->probes_answered == 1 || us < t->st->rtt_us_min)
        stats_set(&t->st->rtt_us_min, us);
    if (t->live.state != before)
        state_changed(w, t);
    due_at(w, t, t->live.next_ns);
    return true;
}

static bool tell_state(struct worker *w, const struct tunnel *t)
{
    struct worker_event *ev = worker_event(w, DP_TUNNEL_STATE);
    if (ev == NULL)
        return false;
    ev->tunnel = (struct dp_tunnel_event){.link = t->link->set.link,
                                          .tunnel = t->index,
                                          .state = t->live.state,
                                          .reason = t->live.reason,
                                          .rtt_us = (uint32_t)(t->live.rtt_ns / NS_PER_US),
                                          .mono_ns = t->live.since_ns};
    worker_event_done(w);
    return true;
}

static bool tell_move(struct worker *w, const struct tunnel *t)
{
    struct ipaddr remote;
    uint16_t port;
    if (ipaddr_from_sockaddr(&t->path.remote.sa, &remote, &port) != 0)
        return true;
    struct worker_event *ev = worker_event(w, DP_PEER_MOVED);
    if (ev == NULL)
        return false;
    ev->moved = (struct dp_peer_moved){.link = t->link->set.link,
                                       .remote = dp_addr_from_ip(&remote),
                                       .tunnel = t->index,
                                       .port = port};
    worker_event_done(w);
    return true;
}

void tunnel_report(struct worker *w, struct tunnel *t)
{
    bool known = t->told_ns == t->live.since_ns && t->told_state == t->live.state &&
                 t->told_reason == t->live.reason;
    if (!known && tell_state(w, t)) {
        t->told_ns = t->live.since_ns;
        t->told_state = t->live.state;
        t->told_reason = t->live.reason;
    }
    if (t->moved && tell_move(w, t))
        t->moved = false;
    struct sa *all[TUNNEL_IN_MAX + 1] = {t->out};
    memcpy(all + 1, t->in, sizeof t->in);
    for (unsigned i = 0; i < TUNNEL_IN_MAX + 1; i++) {
        if (all[i] != NULL && all[i]->events != 0)
            tell_sa_events(w, all[i]);
    }
}
