#include "controller/planner/config.h"
#include "common/esp_suite.h"
#include <stdlib.h>

static int by_peer_id(const void *a, const void *b)
{
    return id_cmp(&((const struct config_peer *)a)->gateway_id,
                  &((const struct config_peer *)b)->gateway_id);
}

static void fill_self(const struct fleet *f, size_t gateway, struct gateway_config *c)
{
    const struct topo_gateway *g = f->gateways[gateway].gateway;
    const struct topo_site *s = f->sites[f->gateways[gateway].site].site;
    c->gateway_id = g->id;
    c->site_id = s->id;
    memcpy(c->name, g->name, sizeof c->name);
    memcpy(c->site_name, s->name, sizeof c->site_name);
    c->role = s->role;
    c->port_base = g->port_base;
    c->overlay4 = g->overlay4;
    c->overlay6 = g->overlay6;
    c->flow_seed = f->topology->flow_seed;
    c->tunnel_seed = f->topology->tunnel_seed;
}

static int by_prefix(const void *a, const void *b)
{
    return prefix_cmp(a, b);
}

static int fill_prefixes(const struct fleet *f, size_t gateway, struct gateway_config *c,
                         struct err *e)
{
    const struct topo_site *s = f->sites[f->gateways[gateway].site].site;
    c->site_prefixes = calloc(s->n_prefixes + 1, sizeof *c->site_prefixes);
    if (!c->site_prefixes)
        return err_set(e, HW_ENOMEM, "out of memory");
    c->n_site_prefixes = s->n_prefixes;
    if (s->n_prefixes) {
        memcpy(c->site_prefixes, s->prefixes, s->n_prefixes * sizeof *s->prefixes);
        qsort(c->site_prefixes, c->n_site_prefixes, sizeof *c->site_prefixes, by_prefix);
    }
    return 0;
}

static struct config_peer peer_of(const struct fleet *f, size_t gateway)
{
    const struct topo_gateway *g = f->gateways[gateway].gateway;
    struct config_peer p = {.gateway_id = g->id,
                            .site_id = g->site_id,
                            .overlay4 = g->overlay4,
                            .overlay6 = g->overlay6};
    memcpy(p.name, g->name, sizeof p.name);
    for (size_t i = 0; i < g->n_endpoints; i++) {
        bool again = false;
        for (size_t k = 0; k < p.n_endpoints; k++)
            again = again || ipaddr_equal(&p.endpoints[k], &g->endpoints[i].address);
        if (!again)
            p.endpoints[p.n_endpoints++] = g->endpoints[i].address;
    }
    return p;
}

static int fill_peers(const struct fleet *f, const struct mesh *m, size_t gateway,
                      struct gateway_config *c, struct err *e)
{
    size_t n = m->n_of_gateway[gateway];
    c->peers = calloc(n + 1, sizeof *c->peers);
    if (!c->peers)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        c->peers[i] = peer_of(f, mesh_peer(&m->links[m->of_gateway[gateway][i]], gateway));
    if (n)
        qsort(c->peers, n, sizeof *c->peers, by_peer_id);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !id_equal(&c->peers[i].gateway_id, &c->peers[c->n_peers - 1].gateway_id))
            c->peers[c->n_peers++] = c->peers[i];
    return 0;
}

static struct config_link link_of(const struct fleet *f, const struct mesh_link *l, size_t gateway)
{
    bool is_a = l->gateway_a == gateway;
    const struct address_end *own = is_a ? &l->pair.a : &l->pair.b,
                             *other = is_a ? &l->pair.b : &l->pair.a;
    const struct topo_gateway *peer = f->gateways[mesh_peer(l, gateway)].gateway;
    struct config_link c = {.id = l->plan.id,
                            .connection_id = l->plan.connection_id,
                            .kind = l->plan.kind,
                            .peer_id = peer->id,
                            .enabled = l->plan.enabled,
                            .tunnels = l->plan.tunnels,
                            .port_offset = l->plan.port_offset,
                            .local = own->source,
                            .remote = other->address,
                            .remote_port_base = peer->port_base,
                            .dial = other->reachable,
                            .peer_dials = own->reachable,
                            .liveness_interval_ms = l->interval_ms,
                            .liveness_missed = TOPOLOGY_MISSED_DEFAULT};
    static const uint8_t bypass_suites[] = {ESP_SUITE_AES_256_GCM};
    const uint8_t *suites = bypass_suites;
    c.n_suites = 1;
    if (l->connection) {
        suites = l->connection->suite_order;
        c.n_suites = l->connection->n_suites;
        c.liveness_missed = l->connection->liveness_missed;
        c.permission = l->connection->permission;
    }
    for (size_t i = 0; i < c.n_suites; i++) {
        c.suite_order[i] = suites[i];
        c.suites |= 1u << suites[i];
    }
    return c;
}

static int fill_links(const struct fleet *f, const struct mesh *m, size_t gateway,
                      struct gateway_config *c, struct err *e)
{
    c->n_links = m->n_of_gateway[gateway];
    c->links = calloc(c->n_links + 1, sizeof *c->links);
    if (!c->links)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < c->n_links; i++)
        c->links[i] = link_of(f, &m->links[m->of_gateway[gateway][i]], gateway);
    return 0;
}

static int fill_firewall(const struct fleet *f, size_t gateway, struct gateway_config *c,
                         struct err *e)
{
    const struct topo_site *s = f->sites[f->gateways[gateway].site].site;
    return s->firewall && s->firewall->present ? firewall_copy(s->firewall, &c->firewall, e) : 0;
}

int config_build(const struct fleet *f, const struct mesh *m, size_t gateway,
                 struct fib_cache *cache, struct gateway_config *out, struct err *e)
{
    struct gateway_config c = {0};
    fill_self(f, gateway, &c);
    int rc = fill_prefixes(f, gateway, &c, e);
    if (!rc)
        rc = fill_peers(f, m, gateway, &c, e);
    if (!rc)
        rc = fill_links(f, m, gateway, &c, e);
    if (!rc)
        rc = fib_build(f, m, gateway, cache, &c, e);
    if (!rc)
        rc = fill_firewall(f, gateway, &c, e);
    if (rc) {
        gateway_config_done(&c);
        return rc;
    }
    *out = c;
    return 0;
}
