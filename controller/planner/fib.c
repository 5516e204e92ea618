#include "controller/planner/fib_builder.h"
#include "controller/planner/joins.h"
#include "controller/planner/routing.h"
#include <stdlib.h>

int fib_grow(void *array, size_t *cap, size_t n, size_t size, size_t max, const char *what,
             struct err *e)
{
    void **p = array;
    if (n >= max)
        return err_set(e, HW_EINVAL, "a gateway would have more than %zu %s", max, what);
    if (n < *cap)
        return 0;
    size_t bigger = *cap ? *cap * 2 : 16;
    void *grown = realloc(*p, bigger * size);
    if (!grown)
        return err_set(e, HW_ENOMEM, "out of memory");
    *p = grown;
    *cap = bigger;
    return 0;
}

static int by_peer_then_id(const void *a, const void *b)
{
    const struct fib_link *x = a, *y = b;
    if (x->peer != y->peer)
        return x->peer < y->peer ? -1 : 1; /* gateways are sorted by id */
    return id_cmp(&x->link->plan.id, &y->link->plan.id);
}

static int collect_links(struct fib_builder *b, struct err *e)
{
    size_t n = b->mesh->n_of_gateway[b->gateway];
    b->links = calloc(n + 1, sizeof *b->links);
    if (!b->links)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const struct mesh_link *l = &b->mesh->links[b->mesh->of_gateway[b->gateway][i]];
        if (!mesh_usable(l))
            continue;
        size_t peer = mesh_peer(l, b->gateway);
        b->links[b->n_links++] = (struct fib_link){.index = (uint32_t)i,
                                                   .link = l,
                                                   .peer = peer,
                                                   .peer_site = b->fleet->gateways[peer].site};
        b->has_class[l->plan.kind] = true;
    }
    qsort(b->links, b->n_links, sizeof *b->links, by_peer_then_id);
    return 0;
}

bool fib_listed(const size_t *sites, size_t n, size_t site)
{
    for (size_t i = 0; i < n; i++)
        if (sites[i] == site)
            return true;
    return false;
}

size_t fib_peer_run(const struct fib_builder *b, size_t first)
{
    size_t n = 1;
    while (first + n < b->n_links && b->links[first + n].peer == b->links[first].peer)
        n++;
    return n;
}

const struct fib_link *fib_peer_link(const struct fib_builder *b, size_t gateway)
{
    size_t lo = 0, hi = b->n_links;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (b->links[mid].peer < gateway)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < b->n_links && b->links[lo].peer == gateway ? &b->links[lo] : NULL;
}

size_t fib_overlay(const struct fib_builder *b, size_t gateway, struct prefix out[2])
{
    const struct topo_gateway *g = b->fleet->gateways[gateway].gateway;
    const struct ipaddr addresses[2] = {g->overlay4, g->overlay6};
    size_t n = 0;
    for (size_t i = 0; g->state == TOPO_GATEWAY_ENROLLED && i < 2; i++)
        if (addresses[i].family)
            out[n++] = prefix_of_host(&addresses[i]);
    return n;
}

static int add_route(struct fib_builder *b, const struct prefix *p, unsigned domain,
                     enum dp_class ingress, enum config_route_target target, uint32_t set,
                     struct err *e)
{
    struct gateway_config *c = b->config;
    int rc = fib_grow(&c->routes, &b->cap_routes, c->n_routes, sizeof *c->routes, HW_FIB_ROUTES_MAX,
                      "routes", e);
    if (rc)
        return rc;
    c->routes[c->n_routes++] = (struct config_route){
        .prefix = *p, .domain = domain, .ingress = ingress, .target = target, .set = set};
    return 0;
}

/* The own overlay addresses: a transit's for every domain whose packets come by this class. */
static int add_own_overlay(struct fib_builder *b, enum dp_class c, struct err *e)
{
    unsigned own = b->fleet->sites[b->site].domain;
    struct prefix p[2];
    size_t n = fib_overlay(b, b->gateway, p);
    int rc = 0;
    for (unsigned d = 0; d < HW_DOMAINS_MAX; d++)
        for (size_t i = 0; !rc && (d == own || b->arriving[c][d]) && i < n; i++)
            rc = add_route(b, &p[i], d, c, ROUTE_LOCAL, 0, e);
    return rc;
}

static int add_local_routes(struct fib_builder *b, struct err *e)
{
    const struct fleet_site *s = &b->fleet->sites[b->site];
    int rc = 0;
    for (unsigned c = DP_CLASS_ATTACHMENT; !rc && c < DP_CLASS_COUNT; c++) {
        if (!b->has_class[c])
            continue;
        for (size_t i = 0; !rc && i < s->site->n_prefixes; i++)
            rc =
                add_route(b, &s->site->prefixes[i], s->domain, (enum dp_class)c, ROUTE_LOCAL, 0, e);
        if (!rc)
            rc = add_own_overlay(b, (enum dp_class)c, e);
    }
    return rc;
}

/* A peer's overlay addresses go by its own links. */
static int add_peer_route(struct fib_builder *b, const struct fib_link *first, unsigned domain,
                          enum dp_class c, struct err *e)
{
    const struct fib_link *members[HW_FIB_SET_MEMBERS_MAX];
    struct prefix p[2];
    size_t n = fib_peer_run(b, (size_t)(first - b->links)),
           n_prefixes = fib_overlay(b, first->peer, p);
    int rc = 0;
    for (size_t k = 0; k < n; k++)
        members[k] = first + k;
    for (size_t k = 0; !rc && k < n_prefixes; k++) {
        uint32_t set;
        rc = fib_sets_find(b, members, n, &set, e);
        if (!rc)
            rc = add_route(b, &p[k], domain, c, ROUTE_SET, set, e);
    }
    return rc;
}

static int add_peer_routes(struct fib_builder *b, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < b->n_links; i += fib_peer_run(b, i))
        rc = add_peer_route(b, &b->links[i], b->fleet->sites[b->site].domain, DP_CLASS_SITE, e);
    return rc;
}

/* True when the neighbour at the other end of bypass link `l` has a usable link to one of `sites`.
 */
static bool neighbour_has(const struct fib_builder *b, const struct fib_link *l,
                          const size_t *sites, size_t n)
{
    const struct mesh *m = b->mesh;
    for (size_t i = 0; i < m->n_of_gateway[l->peer]; i++) {
        const struct mesh_link *other = &m->links[m->of_gateway[l->peer][i]];
        if (mesh_usable(other) && other->plan.kind != LINK_BYPASS &&
            fib_listed(sites, n, b->fleet->gateways[mesh_peer(other, l->peer)].site))
            return true;
    }
    return false;
}

/*
 * Members of the set for packets of class `ingress` to site `to`: the gateway's own links to the
 * next sites; where it has none, the bypass to those neighbours that have one and may use it for
 * what comes by a bypass.
 */
static int members_for(const struct fib_builder *b, size_t to, enum dp_class ingress,
                       const struct fib_link *members[HW_FIB_SET_MEMBERS_MAX], size_t *n,
                       struct err *e)
{
    *n = 0;
    size_t n_sites = routing_next(b->fleet, b->site, to, ingress, ROUTING_USABLE, b->scratch);
    for (int bypass = 0; bypass < 2 && *n == 0; bypass++) {
        if (bypass && ingress == DP_CLASS_BYPASS)
            break;
        if (bypass)
            n_sites =
                routing_next(b->fleet, b->site, to, DP_CLASS_BYPASS, ROUTING_USABLE, b->scratch);
        for (size_t i = 0; i < b->n_links; i++) {
            const struct fib_link *l = &b->links[i];
            bool is_bypass = l->link->plan.kind == LINK_BYPASS;
            if (bypass ? !is_bypass || !neighbour_has(b, l, b->scratch, n_sites)
                       : is_bypass || !fib_listed(b->scratch, n_sites, l->peer_site))
                continue;
            if (*n == HW_FIB_SET_MEMBERS_MAX)
                return err_set(
                    e, HW_EINVAL, "gateway %s would have more than %d next hops to site %s",
                    b->config->name, HW_FIB_SET_MEMBERS_MAX, b->fleet->sites[to].site->name);
            members[(*n)++] = l;
        }
    }
    return 0;
}

/* True when somebody other than `to` itself may send to its domain by this class. */
static bool class_is_used(const struct fib_builder *b, size_t to, enum dp_class c)
{
    unsigned domain = b->fleet->sites[to].domain;
    return b->arriving[c][domain] > (b->arrives[c][to] ? 1u : 0u);
}

/* To the overlay addresses of the gateways of site `to`: a peer's by its own links, the others' as
 * to their site. */
static int add_overlay_routes(struct fib_builder *b, size_t to, enum dp_class c,
                              enum config_route_target target, uint32_t set, struct err *e)
{
    const struct fleet_site *s = &b->fleet->sites[to];
    int rc = 0;
    for (size_t g = 0; !rc && g < s->n_gateways; g++) {
        const struct fib_link *peer = fib_peer_link(b, s->gateways[g]);
        struct prefix p[2];
        size_t n = peer ? 0 : fib_overlay(b, s->gateways[g], p);
        if (peer && c != DP_CLASS_SITE)
            rc = add_peer_route(b, peer, s->domain, c, e);
        for (size_t i = 0; !rc && i < n; i++)
            rc = add_route(b, &p[i], s->domain, c, target, set, e);
    }
    return rc;
}

/*
 * Routes to one other site, for every class by which somebody may send to it. Without a usable way
 * a connected site still gets `unreachable` for what comes from the own site, so that the kernel's
 * other routes never carry it in plain.
 */
static int add_site_routes(struct fib_builder *b, size_t to, struct err *e)
{
    const struct fleet_site *s = &b->fleet->sites[to];
    int rc = 0;
    for (unsigned k = DP_CLASS_SITE; !rc && k < DP_CLASS_COUNT; k++) {
        enum dp_class c = (enum dp_class)k;
        if (!class_is_used(b, to, c))
            continue;
        const struct fib_link *members[HW_FIB_SET_MEMBERS_MAX];
        size_t n;
        rc = members_for(b, to, c, members, &n, e);
        bool unreachable =
            !rc && n == 0 && c == DP_CLASS_SITE &&
            routing_next(b->fleet, b->site, to, c, ROUTING_CONFIGURED, b->scratch) > 0;
        if (rc || (n == 0 && !unreachable))
            continue;
        uint32_t set = 0;
        if (n)
            rc = fib_sets_find(b, members, n, &set, e);
        enum config_route_target target = n ? ROUTE_SET : ROUTE_UNREACHABLE;
        for (size_t i = 0; !rc && i < s->site->n_prefixes; i++)
            rc = add_route(b, &s->site->prefixes[i], s->domain, c, target, set, e);
        if (!rc)
            rc = add_overlay_routes(b, to, c, target, set, e);
    }
    return rc;
}

/* A site that this one was joined with and is no longer. No packet of the own site may reach it by
 * the kernel's other routes; the prefixes of two sites never overlap, so nothing else is cut off.
 */
static int add_former_site(struct fib_builder *b, size_t to, struct err *e)
{
    const struct fleet *f = b->fleet;
    const struct topo_site *s = f->sites[to].site;
    int rc = 0;
    if (!fleet_once_joined(f, b->site, to) || joins_lead(f, b->site, to, b->scratch))
        return 0;
    for (size_t i = 0; !rc && i < s->n_prefixes; i++)
        rc = add_route(b, &s->prefixes[i], f->sites[b->site].domain, DP_CLASS_SITE,
                       ROUTE_UNREACHABLE, 0, e);
    return rc;
}

static int by_route_key(const void *a, const void *b)
{
    const struct config_route *x = a, *y = b;
    if (x->domain != y->domain)
        return x->domain < y->domain ? -1 : 1;
    if (x->ingress != y->ingress)
        return x->ingress < y->ingress ? -1 : 1;
    return prefix_cmp(&x->prefix, &y->prefix);
}

/* Everything in an order of its own, so that one more prefix adds its lines and moves no others. */
static int fill(struct fib_builder *b, struct err *e)
{
    struct gateway_config *c = b->config;
    int rc = collect_links(b, e);
    if (!rc)
        rc = fib_sources_build(b, e);
    if (!rc)
        rc = add_local_routes(b, e);
    if (!rc)
        rc = add_peer_routes(b, e);
    for (size_t i = 0; !rc && i < b->fleet->n_sites; i++)
        if (i != b->site)
            rc = add_site_routes(b, i, e);
    for (size_t i = 0; !rc && i < b->fleet->n_sites; i++)
        if (i != b->site)
            rc = add_former_site(b, i, e);
    if (!rc)
        rc = fib_sets_order(c, e);
    if (!rc && c->n_routes)
        qsort(c->routes, c->n_routes, sizeof *c->routes, by_route_key);
    return rc;
}

int fib_build(const struct fleet *f, const struct mesh *m, size_t gateway, struct fib_cache *cache,
              struct gateway_config *c, struct err *e)
{
    struct fib_builder b = {.fleet = f,
                            .mesh = m,
                            .gateway = gateway,
                            .site = f->gateways[gateway].site,
                            .cache = cache,
                            .config = c};
    b.scratch = calloc(f->sites[b.site].n_edges + 1, sizeof *b.scratch);
    bool ok = b.scratch != NULL;
    for (size_t k = 0; k < DP_CLASS_COUNT; k++) {
        b.arrives[k] = calloc(f->n_sites + 1, sizeof(bool));
        b.arriving[k] = calloc(HW_DOMAINS_MAX, sizeof(unsigned));
        ok = ok && b.arrives[k] && b.arriving[k];
    }
    int rc = ok ? fill(&b, e) : err_set(e, HW_ENOMEM, "out of memory");
    for (size_t k = 0; k < DP_CLASS_COUNT; k++) {
        free(b.arrives[k]);
        free(b.arriving[k]);
    }
    free(b.links);
    free(b.scratch);
    return rc;
}
