#include "controller/planner/plan_diff.h"
#include "common/esp_suite.h"
#include <stdlib.h>
#include <string.h>

static const struct topo_gateway *gateway_of(const struct plan_side *s, const struct hw_id *id)
{
    for (size_t i = 0; i < s->topology->n_gateways; i++)
        if (id_equal(&s->topology->gateways[i].id, id))
            return &s->topology->gateways[i];
    return NULL;
}

static const struct topo_connection *connection_of(const struct plan_side *s,
                                                   const struct hw_id *id)
{
    for (size_t i = 0; i < s->topology->n_connections; i++)
        if (id_equal(&s->topology->connections[i].id, id))
            return &s->topology->connections[i];
    return NULL;
}

/* --- MTU --- */

static unsigned endpoint_mtu(const struct topo_gateway *g, const struct ipaddr *address)
{
    for (size_t i = 0; g && i < g->n_endpoints; i++)
        if (ipaddr_equal(&g->endpoints[i].address, address))
            return g->endpoints[i].mtu;
    return 0;
}

static unsigned inner_mtu(const struct plan_side *s, const struct planned_link *l)
{
    if (!l || l->state != PLANNED_LINK_READY)
        return 0;
    unsigned a = endpoint_mtu(gateway_of(s, &l->gateway_a), &l->address_a);
    unsigned b = endpoint_mtu(gateway_of(s, &l->gateway_b), &l->address_b);
    const struct topo_connection *c = connection_of(s, &l->connection_id);
    const struct esp_suite *suite =
        esp_suite_by_id(c && c->n_suites ? c->suite_order[0] : ESP_SUITE_AES_256_GCM);
    return suite ? (unsigned)esp_inner_mtu(suite, a < b ? a : b, l->address_a.family) : 0;
}

/* --- links --- */

static bool runs(const struct planned_link *l)
{
    return l->state == PLANNED_LINK_READY && l->enabled;
}

static bool same_ports(const struct plan_side *before, const struct plan_side *after,
                       const struct hw_id *id)
{
    const struct topo_gateway *b = gateway_of(before, id), *a = gateway_of(after, id);
    return b && a && b->port_base == a->port_base;
}

static bool same_suites(const struct plan_side *before, const struct plan_side *after,
                        const struct planned_link *l)
{
    const struct topo_connection *b = connection_of(before, &l->connection_id),
                                 *a = connection_of(after, &l->connection_id);
    if (!b || !a)
        return b == a;
    return b->n_suites == a->n_suites && memcmp(b->suite_order, a->suite_order, b->n_suites) == 0;
}

static bool same_ends(const struct planned_link *b, const struct planned_link *a)
{
    return ipaddr_equal(&b->address_a, &a->address_a) && ipaddr_equal(&b->address_b, &a->address_b);
}

static bool same_keys(const struct plan_side *before, const struct plan_side *after,
                      const struct planned_link *b, const struct planned_link *a)
{
    return same_ends(b, a) && b->tunnels == a->tunnels && b->port_offset == a->port_offset &&
           same_ports(before, after, &b->gateway_a) && same_ports(before, after, &b->gateway_b) &&
           same_suites(before, after, b);
}

static unsigned tunnels_of(const struct planned_link *l)
{
    return l && l->enabled && l->state != PLANNED_LINK_REFUSED ? l->tunnels : 0;
}

static void count_tunnels(struct plan_diff *d, const struct plan_change *c, bool keys_stay)
{
    unsigned before = tunnels_of(c->before), after = tunnels_of(c->after);
    if (after > before)
        d->tunnels_added += after - before;
    else
        d->tunnels_removed += before - after;
    if (c->before && c->after && runs(c->before) && runs(c->after) && !keys_stay)
        d->tunnels_rekeyed += before < after ? before : after;
}

static void compare_link(const struct plan_side *before, const struct plan_side *after,
                         const struct planned_link *b, const struct planned_link *a,
                         struct plan_diff *d)
{
    bool keys_stay = b && a && same_keys(before, after, b, a);
    if (keys_stay && b->enabled == a->enabled && b->state == a->state &&
        strcmp(b->reason, a->reason) == 0 && strcmp(b->tunnels_reason, a->tunnels_reason) == 0)
        return;
    struct plan_change *c = &d->changes[d->n_changes++];
    *c = (struct plan_change){.before = b,
                              .after = a,
                              .mtu_before = inner_mtu(before, b),
                              .mtu_after = inner_mtu(after, a)};
    count_tunnels(d, c, keys_stay);
}

static void compare_links(const struct plan_side *before, const struct plan_side *after,
                          struct plan_diff *d)
{
    const struct plan *b = before->plan, *a = after->plan;
    for (size_t i = 0, k = 0; i < b->n_links || k < a->n_links;) {
        int c = i == b->n_links   ? 1
                : k == a->n_links ? -1
                                  : id_cmp(&b->links[i].id, &a->links[k].id);
        compare_link(before, after, c <= 0 ? &b->links[i] : NULL, c >= 0 ? &a->links[k] : NULL, d);
        i += c <= 0;
        k += c >= 0;
    }
}

/* --- flows --- */

static int route_key_cmp(const struct config_route *x, const struct config_route *y)
{
    int c = (x->domain > y->domain) - (x->domain < y->domain);
    if (!c)
        c = (x->ingress > y->ingress) - (x->ingress < y->ingress);
    if (!c)
        c = (x->prefix.len > y->prefix.len) - (x->prefix.len < y->prefix.len);
    return c ? c : memcmp(&x->prefix.addr, &y->prefix.addr, sizeof x->prefix.addr);
}

static int by_route(const void *x, const void *y)
{
    return route_key_cmp(*(const struct config_route *const *)x,
                         *(const struct config_route *const *)y);
}

static size_t set_routes(const struct gateway_config *c, const struct config_route **out)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_routes; i++)
        if (c->routes[i].target == ROUTE_SET)
            out[n++] = &c->routes[i];
    if (n)
        qsort(out, n, sizeof *out, by_route);
    return n;
}

struct moved {
    uint64_t buckets, moved;
};

static const struct hw_id *owner(const struct gateway_config *c, const struct config_set *s,
                                 size_t bucket)
{
    return &c->links[s->members[s->bucket[bucket]].link].id;
}

static void compare_sets(const struct gateway_config *b, uint32_t set_b,
                         const struct gateway_config *a, uint32_t set_a, struct moved *m)
{
    for (size_t i = 0; i < HW_BUCKETS; i++)
        m->moved += !id_equal(owner(b, &b->sets[set_b], i), owner(a, &a->sets[set_a], i));
    m->buckets += HW_BUCKETS;
}

/* Sets are found again by the routes that lead to them, each pair of sets once. */
static int compare_flows(const struct gateway_config *b, const struct gateway_config *a,
                         struct moved *m, struct err *e)
{
    const struct config_route **rb = calloc(b->n_routes + 1, sizeof *rb),
                              **ra = calloc(a->n_routes + 1, sizeof *ra);
    bool *seen = calloc(b->n_sets * a->n_sets + 1, sizeof *seen);
    int rc = rb && ra && seen ? 0 : err_set(e, HW_ENOMEM, "out of memory");
    size_t nb = rc ? 0 : set_routes(b, rb), na = rc ? 0 : set_routes(a, ra);
    for (size_t i = 0, k = 0; i < nb && k < na;) {
        int c = route_key_cmp(rb[i], ra[k]);
        if (c == 0 && !seen[rb[i]->set * a->n_sets + ra[k]->set]) {
            seen[rb[i]->set * a->n_sets + ra[k]->set] = true;
            compare_sets(b, rb[i]->set, a, ra[k]->set, m);
        }
        i += c <= 0;
        k += c >= 0;
    }
    free((void *)rb);
    free((void *)ra);
    free(seen);
    return rc;
}

static int compare_gateways(const struct plan *b, const struct plan *a, double *share,
                            struct err *e)
{
    struct moved m = {0};
    int rc = 0;
    for (size_t i = 0, k = 0; !rc && i < b->n_gateways && k < a->n_gateways;) {
        int c = id_cmp(&b->gateways[i].gateway_id, &a->gateways[k].gateway_id);
        if (c == 0)
            rc = compare_flows(&b->gateways[i].config, &a->gateways[k].config, &m, e);
        i += c <= 0;
        k += c >= 0;
    }
    *share = m.buckets ? (double)m.moved / (double)m.buckets : 0;
    return rc;
}

int plan_diff(const struct plan_side *before, const struct plan_side *after, struct plan_diff *out,
              struct err *e)
{
    struct plan_diff d = {0};
    d.changes = calloc(before->plan->n_links + after->plan->n_links + 1, sizeof *d.changes);
    if (!d.changes)
        return err_set(e, HW_ENOMEM, "out of memory");
    compare_links(before, after, &d);
    int rc = compare_gateways(before->plan, after->plan, &d.flows_moved, e);
    if (rc)
        plan_diff_done(&d);
    else
        *out = d;
    return rc;
}

void plan_diff_done(struct plan_diff *d)
{
    free(d->changes);
    *d = (struct plan_diff){0};
}
