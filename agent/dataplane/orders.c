#include "agent/dataplane/orders.h"

#include "agent/dataplane/burst.h"
#include "agent/dataplane/forward.h"
#include "agent/dataplane/path_in.h"
#include <string.h>

static bool is_owner(const struct worker *w, unsigned port_offset, unsigned tunnel)
{
    return (port_offset + tunnel) % HW_PORTS_PER_GATEWAY % w->shared->workers == w->index;
}

void order_attach_tun(struct worker *w, void *arg)
{
    struct order_tun *o = arg;
    /* What is being merged points to the old device's merger. */
    path_in_flush(w);
    if (w->tun_fd >= 0)
        worker_unwatch(w, w->tun_fd);
    w->tun_fd = -1;
    o->rc = worker_watch_tun(w, o->fd);
    if (o->rc != 0)
        return;
    w->tun_fd = o->fd;
    w->tun_queues = o->queues;
    w->tun_mtu = o->mtu;
    struct gro_merge *old = w->gro;
    w->gro = o->gro;
    o->gro = old;
}

void order_attach_udp(struct worker *w, void *arg)
{
    struct order_udp *o = arg;
    struct udp_socket *s = &w->sock[o->family == 4 ? 0 : 1][o->port_index];
    burst_flush_all(w);
    if (s->fd >= 0)
        worker_unwatch(w, s->fd);
    s->fd = o->fd;
    o->rc = worker_watch_udp(w, s);
    if (o->rc != 0)
        s->fd = -1;
    else
        w->sock_port[o->family == 4 ? 0 : 1][o->port_index] = o->port;
}

/* ---- links ---- */

static void list_tunnel(struct worker *w, struct link *l, struct tunnel *t)
{
    l->by_index[t->index] = t;
    l->owned[l->n_owned++] = t;
    w->tunnels[w->n_tunnels++] = t;
}

/* Out of both lists; the order of a link's tunnels stays, since flows are spread by position. */
static void unlist_tunnel(struct worker *w, struct link *l, const struct tunnel *t)
{
    l->by_index[t->index] = NULL;
    for (unsigned i = 0; i < l->n_owned; i++) {
        if (l->owned[i] == t) {
            l->n_owned--;
            memmove(&l->owned[i], &l->owned[i + 1], (l->n_owned - i) * sizeof l->owned[0]);
            break;
        }
    }
    for (unsigned i = 0; i < w->n_tunnels; i++) {
        if (w->tunnels[i] == t) {
            w->tunnels[i] = w->tunnels[--w->n_tunnels];
            break;
        }
    }
}

static void close_tunnel(struct worker *w, struct link *l, struct order_link *o, unsigned i)
{
    struct tunnel *t = l->by_index[i];
    if (t == NULL)
        return;
    tunnel_close(w, t);
    unlist_tunnel(w, l, t);
    o->gone[i] = t;
}

static void open_tunnel(struct worker *w, struct link *l, struct order_link *o, unsigned i)
{
    struct tunnel *t = o->fresh[i];
    if (t == NULL || l->by_index[i] != NULL)
        return;
    o->fresh[i] = NULL;
    tunnel_init(t, l, i, o->st[i], w->now_ns);
    tunnel_open(w, t);
    list_tunnel(w, l, t);
}

static struct sa *take_dead(struct worker *w)
{
    struct sa *dead = w->dead;
    w->dead = NULL;
    return dead;
}

void order_link_set(struct worker *w, void *arg)
{
    struct order_link *o = arg;
    struct link *l = w->links[o->slot];
    /* Bursts hold the old addresses, and tunnels may go. */
    burst_flush_all(w);
    if (l == NULL) {
        l = o->link[w->index];
        o->link[w->index] = NULL;
        w->links[o->slot] = l;
        l->slot = o->slot;
    }
    struct dp_link_set old = l->set;
    l->set = o->set;
    l->local = dp_addr_to_ip(&o->set.local);
    l->remote = dp_addr_to_ip(&o->set.remote);
    l->peer_overlay4 = dp_addr_to_ip(&o->set.peer_overlay4);
    l->peer_overlay6 = dp_addr_to_ip(&o->set.peer_overlay6);
    for (unsigned i = o->set.tunnels; i < HW_TUNNELS_PER_LINK_MAX; i++)
        close_tunnel(w, l, o, i);
    for (unsigned i = 0; i < o->set.tunnels; i++) {
        if (is_owner(w, o->set.port_offset, i))
            open_tunnel(w, l, o, i);
    }
    for (unsigned i = 0; i < l->n_owned; i++)
        tunnel_configure(w, l->owned[i], &old);
    o->dead[w->index] = take_dead(w);
}

void order_link_remove(struct worker *w, void *arg)
{
    struct order_link *o = arg;
    struct link *l = w->links[o->slot];
    burst_flush_all(w);
    forward_drop_packed(w);
    if (l == NULL)
        return;
    for (unsigned i = 0; i < HW_TUNNELS_PER_LINK_MAX; i++)
        close_tunnel(w, l, o, i);
    live_map_set(w->shared->live, o->slot, w->index, false);
    w->links[o->slot] = NULL;
    o->link[w->index] = l;
    o->dead[w->index] = take_dead(w);
}

/* ---- SAs ---- */

void order_sa_install(struct worker *w, void *arg)
{
    struct order_sa *o = arg;
    struct link *l = w->links[o->slot];
    for (unsigned i = 0; i < l->n_owned; i++)
        tunnel_peer_boot(w, l->owned[i], &o->peer_boot);
    for (unsigned i = 0; i < l->n_owned; i++) {
        struct tunnel *t = l->owned[i];
        if (o->sa[t->index] == NULL)
            continue;
        if (tunnel_install(w, t, o->sa[t->index], &o->err[w->index]) != 0)
            break;
        o->sa[t->index] = NULL;
    }
    o->dead[w->index] = take_dead(w);
}

void order_sa_switch(struct worker *w, void *arg)
{
    struct order_sa *o = arg;
    struct link *l = w->links[o->slot];
    for (unsigned i = 0; i < l->n_owned; i++)
        o->found[w->index] += tunnel_switch(w, l->owned[i], o->epoch) ? 1 : 0;
    o->dead[w->index] = take_dead(w);
}

void order_sa_retire(struct worker *w, void *arg)
{
    struct order_sa *o = arg;
    struct link *l = w->links[o->slot];
    for (unsigned i = 0; i < l->n_owned; i++)
        tunnel_retire(w, l->owned[i], o->epoch, o->in, o->out);
    o->dead[w->index] = take_dead(w);
}

/* ---- telling ---- */

static void dump_sa(const struct worker *w, struct order_dump *o, const struct sa *sa, bool active)
{
    if (sa == NULL)
        return;
    o->sa[w->index][o->n[w->index]++] = (struct dp_dump_sa){
        .link = sa->link,
        .peer_boot = sa->peer_boot,
        .epoch = sa->epoch,
        .age_ns = w->now_ns > sa->installed_ns ? w->now_ns - sa->installed_ns : 0,
        .spi = sa->spi,
        .tunnel = sa->tunnel,
        .direction = sa->direction,
        .suite = sa->suite,
        .active = active,
        .esn = sa->esn,
        .peer_cert = sa->peer_cert,
    };
}

static void dump_sockets(const struct worker *w, struct order_dump *o)
{
    for (unsigned f = 0; f < 2; f++) {
        for (unsigned i = 0; i < HW_PORTS_PER_GATEWAY; i++) {
            if (w->sock[f][i].fd >= 0)
                o->udp[w->index][o->n_udp[w->index]++] = (struct dp_attach_udp){
                    .family = f == 0 ? 4 : 6, .port_index = (uint8_t)i, .port = w->sock_port[f][i]};
        }
    }
}

void order_dump(struct worker *w, void *arg)
{
    struct order_dump *o = arg;
    for (unsigned i = 0; i < w->n_tunnels; i++) {
        const struct tunnel *t = w->tunnels[i];
        o->state[t->link->slot][t->index] = t->live.state;
        for (unsigned k = 0; k < TUNNEL_IN_MAX; k++)
            dump_sa(w, o, t->in[k], t->in[k] != NULL && (t->in[k]->seen & SA_EVENT_FIRST));
        dump_sa(w, o, t->out, true);
        dump_sa(w, o, t->out_next, false);
    }
    if (w->tun_fd >= 0)
        o->tun[w->index] = (struct dp_dump_tun){
            .queue = (uint16_t)w->index, .queues = w->tun_queues, .mtu = w->tun_mtu};
    dump_sockets(w, o);
}

static void retell_sa(struct sa *sa)
{
    if (sa != NULL)
        sa->events |= sa->seen & SA_EVENT_SOFT;
}

void order_retell(struct worker *w, void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < w->n_tunnels; i++) {
        struct tunnel *t = w->tunnels[i];
        retell_sa(t->out);
        for (unsigned k = 0; k < TUNNEL_IN_MAX; k++)
            retell_sa(t->in[k]);
        tunnel_report(w, t);
    }
}

void order_nothing(struct worker *w, void *arg)
{
    (void)w;
    (void)arg;
}

void order_stop(struct worker *w, void *arg)
{
    (void)arg;
    w->stop = true;
}
