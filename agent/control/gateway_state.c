#include "agent/control/gateway_state.h"
#include "agent/control/fib_image.h"
#include <stdlib.h>
#include <string.h>

int state_rule_cmp(const void *a, const void *b)
{
    const struct nl_rule *x = a, *y = b;
    if (x->priority != y->priority)
        return x->priority < y->priority ? -1 : 1;
    int c = ipaddr_cmp(&x->own, &y->own);
    return c ? c : ipaddr_cmp(&x->peer, &y->peer);
}

int state_route_cmp(const void *a, const void *b)
{
    return prefix_cmp(&((const struct state_route *)a)->prefix,
                      &((const struct state_route *)b)->prefix);
}

int state_link_cmp(const void *a, const void *b)
{
    return id_cmp(&((const struct dp_link_set *)a)->link, &((const struct dp_link_set *)b)->link);
}

static int prefix_order(const void *a, const void *b)
{
    return prefix_cmp(a, b);
}

/* Removes neighbours that compare equal; returns the new number. */
static size_t unique(void *base, size_t n, size_t size, int (*cmp)(const void *, const void *))
{
    char *p = base;
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && cmp(p + (kept - 1) * size, p + i * size) == 0)
            continue;
        if (kept != i)
            memcpy(p + kept * size, p + i * size, size);
        kept++;
    }
    return kept;
}

struct dp_link_set dp_link_of_config(const struct gateway_config *c, size_t index, uint32_t mtu)
{
    const struct config_link *l = &c->links[index];
    bool wide_enough = mtu >= HW_LINK_MTU_MIN;
    struct dp_link_set s = {.link = l->id,
                            .peer = l->peer_id,
                            .local = dp_addr_from_ip(&l->local),
                            .remote = dp_addr_from_ip(&l->remote),
                            .remote_port_base = l->remote_port_base,
                            .port_offset = (uint8_t)l->port_offset,
                            .tunnels = (uint8_t)l->tunnels,
                            .class_ = (uint8_t)l->kind,
                            .enabled = l->enabled && wide_enough,
                            .missed = (uint8_t)l->liveness_missed,
                            .mtu = wide_enough ? mtu : HW_LINK_MTU_MIN,
                            .interval_ms = l->liveness_interval_ms};
    for (size_t i = 0; i < c->n_peers; i++)
        if (id_equal(&c->peers[i].gateway_id, &l->peer_id)) {
            s.peer_overlay4 = dp_addr_from_ip(&c->peers[i].overlay4);
            s.peer_overlay6 = dp_addr_from_ip(&c->peers[i].overlay6);
        }
    return s;
}

static void take_addresses(const struct gateway_config *c, struct gateway_state *s)
{
    if (c->overlay4.family)
        s->addresses[s->n_addresses++] = prefix_of_host(&c->overlay4);
    if (c->overlay6.family)
        s->addresses[s->n_addresses++] = prefix_of_host(&c->overlay6);
    qsort(s->addresses, s->n_addresses, sizeof *s->addresses, prefix_order);
}

static void add_rule(struct gateway_state *s, const struct ipaddr *own, const struct ipaddr *peer)
{
    if (own->family == peer->family)
        s->rules[s->n_rules++] =
            (struct nl_rule){.priority = HW_RULE_PRIO_OWN, .own = *own, .peer = *peer};
}

/* Every address of ours on the underlay, with every one of the peer's. */
static void add_peer_rules(struct gateway_state *s, const struct config_peer *p,
                           const struct node *node)
{
    for (size_t i = 0; node && i < node->n_endpoints; i++)
        for (size_t k = 0; k < p->n_endpoints; k++)
            add_rule(s, &node->endpoints[i].address, &p->endpoints[k]);
}

/* The kernel's own answers to a peer (a reset, an echo reply) must not be routed into hawser0: one
 * rule for each pair of our address and an address of the peer. The table rule stands for both
 * families, used or not: what is not routed yet must not leave in plain once it is. */
static int take_rules(const struct gateway_config *c, const struct node *node,
                      struct gateway_state *s)
{
    size_t own = 1 + (node ? node->n_endpoints : 0);
    s->rules =
        calloc((c->n_links + c->n_peers * own) * (1 + HW_ENDPOINTS_MAX) + 2, sizeof *s->rules);
    if (!s->rules)
        return HW_ENOMEM;
    for (size_t i = 0; i < c->n_links; i++) {
        const struct config_link *l = &c->links[i];
        add_rule(s, &l->local, &l->remote);
        for (size_t p = 0; p < c->n_peers; p++)
            for (size_t k = 0;
                 id_equal(&c->peers[p].gateway_id, &l->peer_id) && k < c->peers[p].n_endpoints; k++)
                add_rule(s, &l->local, &c->peers[p].endpoints[k]);
    }
    for (size_t p = 0; p < c->n_peers; p++)
        add_peer_rules(s, &c->peers[p], node);
    s->rules[s->n_rules++] = (struct nl_rule){.priority = HW_RULE_PRIO_TABLE, .own.family = 4};
    s->rules[s->n_rules++] = (struct nl_rule){.priority = HW_RULE_PRIO_TABLE, .own.family = 6};
    qsort(s->rules, s->n_rules, sizeof *s->rules, state_rule_cmp);
    s->n_rules = unique(s->rules, s->n_rules, sizeof *s->rules, state_rule_cmp);
    return 0;
}

/* By prefix, a route into hawser0 before one without: the first of a prefix stays. */
static int tun_first(const void *a, const void *b)
{
    int by_prefix = state_route_cmp(a, b);
    if (by_prefix != 0)
        return by_prefix;
    return (int)((const struct state_route *)b)->tun - (int)((const struct state_route *)a)->tun;
}

/* What cannot be reached at present (a disabled link, a gateway not enrolled yet) has the
 * unreachable route alone: without it the kernel would find another way, and that in plain. */
static void take_routes(const struct gateway_config *c, const struct gateway_facts *facts,
                        struct gateway_state *s)
{
    for (size_t i = 0; i < c->n_routes; i++) {
        const struct config_route *r = &c->routes[i];
        if (r->ingress != DP_CLASS_SITE || r->target == ROUTE_LOCAL)
            continue;
        if (r->target == ROUTE_UNREACHABLE) {
            s->routes[s->n_routes++] = (struct state_route){.prefix = r->prefix, .backing = true};
            continue;
        }
        unsigned mtu = onward_set_mtu(c, r, facts->mtus, facts->heard, -1);
        /* An inner IPv6 packet of 1280 bytes always passes (RFC 8200 section 5). */
        if (r->prefix.addr.family == 6 && mtu < TUN_MTU_MIN)
            mtu = TUN_MTU_MIN;
        s->routes[s->n_routes++] =
            (struct state_route){.prefix = r->prefix, .mtu = mtu, .tun = true, .backing = true};
    }
    qsort(s->routes, s->n_routes, sizeof *s->routes, tun_first);
    s->n_routes = unique(s->routes, s->n_routes, sizeof *s->routes, state_route_cmp);
}

static void take_dataplane(const struct gateway_config *c, const uint32_t *effective,
                           struct gateway_state *s)
{
    s->has_node = true;
    s->node = (struct dp_node_set){.gateway = c->gateway_id,
                                   .overlay4 = dp_addr_from_ip(&c->overlay4),
                                   .overlay6 = dp_addr_from_ip(&c->overlay6),
                                   .flow_seed = c->flow_seed,
                                   .tunnel_seed = c->tunnel_seed};
    struct udp_ports need = udp_ports_needed(c);
    for (unsigned i = 0; i < HW_PORTS_PER_GATEWAY; i++) {
        s->udp.v4[i] = need.v4 >> i & 1 ? (uint16_t)(c->port_base + i) : 0;
        s->udp.v6[i] = need.v6 >> i & 1 ? (uint16_t)(c->port_base + i) : 0;
    }
    for (size_t i = 0; i < c->n_links; i++)
        s->links[s->n_links++] = dp_link_of_config(c, i, effective[i]);
    qsort(s->links, s->n_links, sizeof *s->links, state_link_cmp);
}

/* Per route what the chain beyond the peers carries, where that is less than the tunnels to them;
 * else 0. */
static uint32_t *find_limits(const struct gateway_config *c, const struct gateway_facts *facts,
                             bool *any)
{
    uint32_t *limits = calloc(c->n_routes + 1, sizeof *limits);
    for (size_t i = 0; limits && facts->heard && i < c->n_routes; i++) {
        if (c->routes[i].target != ROUTE_SET)
            continue;
        uint32_t whole = onward_set_mtu(c, &c->routes[i], facts->mtus, facts->heard, -1);
        if (whole < onward_set_mtu(c, &c->routes[i], facts->mtus, NULL, -1))
            limits[i] = whole;
        *any = *any || limits[i];
    }
    return limits;
}

int gateway_state_of_config(const struct gateway_config *c, uint64_t revision,
                            const struct gateway_facts *facts, struct gateway_state *out,
                            struct err *e)
{
    struct gateway_state s = {.tun_exists = true, .tun_up = true, .tun_mtu = TUN_MTU_MIN};
    s.addresses = calloc(2, sizeof *s.addresses);
    s.routes = calloc(c->n_routes + 1, sizeof *s.routes);
    s.links = calloc(c->n_links + 1, sizeof *s.links);
    if (!s.addresses || !s.routes || !s.links || take_rules(c, facts->node, &s) < 0) {
        gateway_state_done(&s);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < c->n_links; i++)
        if (facts->own_mtus[i] > s.tun_mtu)
            s.tun_mtu = facts->own_mtus[i] < TUN_MTU_MAX ? facts->own_mtus[i] : TUN_MTU_MAX;
    take_addresses(c, &s);
    take_routes(c, facts, &s);
    take_dataplane(c, facts->mtus, &s);
    s.fib_generation = revision;
    uint32_t *limits = find_limits(c, facts, &s.fib_limited);
    int rc = limits ? fib_image_make(c, limits, revision, &s.fib, &s.fib_len, e)
                    : err_set(e, HW_ENOMEM, "out of memory");
    free(limits);
    if (rc < 0) {
        gateway_state_done(&s);
        return rc;
    }
    *out = s;
    return 0;
}

void gateway_state_done(struct gateway_state *s)
{
    free(s->addresses);
    free(s->rules);
    free(s->routes);
    free(s->links);
    free(s->fib);
    *s = (struct gateway_state){0};
}

void gateway_state_drop_ipv6(struct gateway_state *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n_addresses; i++)
        if (s->addresses[i].addr.family != 6)
            s->addresses[kept++] = s->addresses[i];
    s->n_addresses = kept;
    kept = 0;
    for (size_t i = 0; i < s->n_rules; i++)
        if (s->rules[i].own.family != 6)
            s->rules[kept++] = s->rules[i];
    s->n_rules = kept;
    kept = 0;
    for (size_t i = 0; i < s->n_routes; i++)
        if (s->routes[i].prefix.addr.family != 6)
            s->routes[kept++] = s->routes[i];
    s->n_routes = kept;
    memset(s->udp.v6, 0, sizeof s->udp.v6);
}
