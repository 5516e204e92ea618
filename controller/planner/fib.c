#include "controller/planner/fib.h"
#include "controller/planner/buckets.h"
#include "controller/planner/routing.h"
#include <stdlib.h>

struct fib_table {
    size_t gateways[HW_FIB_SET_MEMBERS_MAX]; /* in order of the members */
    size_t n;
    uint8_t bucket[HW_BUCKETS];
};

struct fib_cache {
    struct fib_table **tables;
    size_t n;
};

/* One link of the gateway that may carry traffic. */
struct fib_link {
    uint32_t index; /* in the config */
    const struct mesh_link *link;
    size_t peer, peer_site;
};

/* What is known about the gateway's place while its tables are made. */
struct fib_builder {
    const struct fleet *fleet;
    const struct mesh *mesh;
    size_t gateway, site;
    struct fib_cache *cache;
    struct gateway_config *config;
    struct fib_link *links; /* usable ones, by (peer gateway, link id): the order of members */
    size_t n_links;
    bool has_class[DP_CLASS_COUNT];
    bool *arrives[DP_CLASS_COUNT];      /* for each site: its packets may come in by that class */
    unsigned *arriving[DP_CLASS_COUNT]; /* for each domain: how many such sites */
    size_t *scratch;                    /* room for all edges of the site */
    size_t cap_sources, cap_routes, cap_sets;
};

struct fib_cache *fib_cache_new(void)
{
    return calloc(1, sizeof(struct fib_cache));
}

void fib_cache_free(struct fib_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        free(c->tables[i]);
    free(c->tables);
    free(c);
}

/* Makes room for one more element of *array. */
static int grow(void *array, size_t *cap, size_t n, size_t size, size_t max, const char *what,
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

static bool listed(const size_t *sites, size_t n, size_t site)
{
    for (size_t i = 0; i < n; i++)
        if (sites[i] == site)
            return true;
    return false;
}

/* ---- sources ---- */

static int by_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Links by which packets from `sites` come in, with the bypass links beside them when `bypass`. */
static int source_links(const struct fib_builder *b, const size_t *sites, size_t n_sites,
                        bool bypass, uint32_t **out, size_t *n, struct err *e)
{
    *out = calloc(b->n_links + 1, sizeof **out);
    if (!*out)
        return err_set(e, HW_ENOMEM, "out of memory");
    *n = 0;
    for (size_t i = 0; i < b->n_links; i++) {
        const struct fib_link *l = &b->links[i];
        if (l->link->plan.kind == LINK_BYPASS ? bypass : listed(sites, n_sites, l->peer_site))
            (*out)[(*n)++] = l->index;
    }
    qsort(*out, *n, sizeof **out, by_u32);
    return 0;
}

static int add_source(struct fib_builder *b, const struct prefix *p, unsigned domain, bool local,
                      const uint32_t *links, size_t n_links, struct err *e)
{
    struct gateway_config *c = b->config;
    int rc = grow(&c->sources, &b->cap_sources, c->n_sources, sizeof *c->sources,
                  HW_FIB_SOURCES_MAX, "sources", e);
    if (rc)
        return rc;
    uint32_t *copy = NULL;
    if (n_links) {
        copy = malloc(n_links * sizeof *copy);
        if (!copy)
            return err_set(e, HW_ENOMEM, "out of memory");
        memcpy(copy, links, n_links * sizeof *copy);
    }
    c->sources[c->n_sources++] = (struct config_source){
        .prefix = *p, .domain = domain, .local = local, .links = copy, .n_links = n_links};
    return 0;
}

/* A site two hops off concerns this one only if somebody here may be talked to from its domain. */
static bool domain_is_served(const struct fib_builder *b, unsigned domain)
{
    const struct fleet_site *s = &b->fleet->sites[b->site];
    if (s->domain == domain)
        return true;
    if (!fleet_is_transit(b->fleet, b->site))
        return false;
    for (size_t i = 0; i < s->n_edges; i++)
        if (s->edges[i].usable && s->edges[i].kind == LINK_ATTACHMENT &&
            b->fleet->sites[s->edges[i].site].domain == domain)
            return true;
    return false;
}

static void note_arrival(struct fib_builder *b, enum dp_class c, size_t from)
{
    b->arrives[c][from] = true;
    b->arriving[c][b->fleet->sites[from].domain]++;
}

/* Sources of one other site: by every link over which any allowed path could bring them. */
static int add_site_sources(struct fib_builder *b, size_t from, struct err *e)
{
    const struct fleet_site *s = &b->fleet->sites[from];
    bool transit = fleet_is_transit(b->fleet, b->site);
    if (!transit && s->domain != b->fleet->sites[b->site].domain)
        return 0;
    size_t n_sites = routing_arrivals(b->fleet, b->site, from, b->scratch);
    bool direct = n_sites && listed(b->scratch, n_sites, from);
    if (n_sites == 0 || (!direct && !domain_is_served(b, s->domain)))
        return 0;
    uint32_t *links = NULL;
    size_t n = 0;
    int rc = source_links(b, b->scratch, n_sites, true, &links, &n, e);
    if (rc)
        return rc;
    bool seen[DP_CLASS_COUNT] = {false};
    for (size_t i = 0; i < b->n_links; i++)
        if (b->links[i].link->plan.kind == LINK_BYPASS ||
            listed(b->scratch, n_sites, b->links[i].peer_site))
            seen[b->links[i].link->plan.kind] = true;
    for (unsigned c = DP_CLASS_ATTACHMENT; c < DP_CLASS_COUNT; c++)
        if (seen[c])
            note_arrival(b, (enum dp_class)c, from);
    for (size_t i = 0; !rc && n && i < s->site->n_prefixes; i++)
        rc = add_source(b, &s->site->prefixes[i], s->domain, false, links, n, e);
    free(links);
    return rc;
}

/* The site's own prefixes come in by TUN, and from a neighbour that hands over. */
static int add_own_sources(struct fib_builder *b, struct err *e)
{
    const struct fleet_site *s = &b->fleet->sites[b->site];
    uint32_t *links = NULL;
    size_t n = 0;
    int rc = source_links(b, NULL, 0, true, &links, &n, e);
    if (rc)
        return rc;
    note_arrival(b, DP_CLASS_SITE, b->site);
    if (n)
        note_arrival(b, DP_CLASS_BYPASS, b->site);
    for (size_t i = 0; !rc && i < s->site->n_prefixes; i++)
        rc = add_source(b, &s->site->prefixes[i], s->domain, true, links, n, e);
    free(links);
    const struct ipaddr own[2] = {b->config->overlay4, b->config->overlay6};
    for (size_t i = 0; !rc && i < 2; i++) {
        struct prefix p = prefix_of_host(&own[i]);
        if (own[i].family)
            rc = add_source(b, &p, s->domain, true, NULL, 0, e);
    }
    return rc;
}

/* The first of the links to each peer; *n is how many there are of it. */
static size_t peer_run(const struct fib_builder *b, size_t first)
{
    size_t n = 1;
    while (first + n < b->n_links && b->links[first + n].peer == b->links[first].peer)
        n++;
    return n;
}

static int add_peer_sources(struct fib_builder *b, struct err *e)
{
    int rc = 0;
    for (size_t i = 0, n; !rc && i < b->n_links; i += n) {
        n = peer_run(b, i);
        uint32_t links[HW_FIB_SET_MEMBERS_MAX];
        if (n > HW_FIB_SET_MEMBERS_MAX)
            return err_set(e, HW_EINVAL, "two gateways would have more than %d links",
                           HW_FIB_SET_MEMBERS_MAX);
        for (size_t k = 0; k < n; k++)
            links[k] = b->links[i + k].index;
        qsort(links, n, sizeof *links, by_u32);
        const struct topo_gateway *peer = b->fleet->gateways[b->links[i].peer].gateway;
        const struct ipaddr overlay[2] = {peer->overlay4, peer->overlay6};
        for (size_t k = 0; !rc && k < 2; k++) {
            struct prefix p = prefix_of_host(&overlay[k]);
            if (overlay[k].family)
                rc = add_source(b, &p, b->fleet->sites[b->site].domain, false, links, n, e);
        }
    }
    return rc;
}

/* ---- sets ---- */

static const uint8_t *cached_table(struct fib_builder *b, const struct fib_link *const *members,
                                   size_t n, struct err *e)
{
    struct fib_cache *c = b->cache;
    for (size_t i = 0; i < c->n; i++) {
        bool same = c->tables[i]->n == n;
        for (size_t k = 0; same && k < n; k++)
            same = c->tables[i]->gateways[k] == members[k]->peer;
        if (same)
            return c->tables[i]->bucket;
    }
    struct fib_table **grown = realloc(c->tables, (c->n + 1) * sizeof(struct fib_table *));
    if (grown)
        c->tables = grown;
    struct fib_table *t = grown ? calloc(1, sizeof *t) : NULL;
    if (!t) {
        (void)err_set(e, HW_ENOMEM, "out of memory");
        return NULL;
    }
    struct bucket_member draw[HW_FIB_SET_MEMBERS_MAX];
    t->n = n;
    for (size_t k = 0; k < n; k++) {
        const struct topo_gateway *g = b->fleet->gateways[members[k]->peer].gateway;
        t->gateways[k] = members[k]->peer;
        draw[k] = (struct bucket_member){
            .gateway = g->id, .link = members[k]->link->plan.id, .weight = g->weight};
    }
    buckets_fill(draw, n, t->bucket);
    c->tables[c->n++] = t;
    return t->bucket;
}

static bool same_members(const struct config_set *s, const struct fib_link *const *members,
                         size_t n)
{
    bool same = s->n_members == n;
    for (size_t k = 0; same && k < n; k++)
        same = s->members[k].link == members[k]->index;
    return same;
}

/* Index of the set with exactly these members, made if it is new. */
static int find_set(struct fib_builder *b, const struct fib_link *const *members, size_t n,
                    uint32_t *out, struct err *e)
{
    struct gateway_config *c = b->config;
    for (size_t i = 0; i < c->n_sets; i++) {
        if (same_members(&c->sets[i], members, n)) {
            *out = (uint32_t)i;
            return 0;
        }
    }
    int rc = grow(&c->sets, &b->cap_sets, c->n_sets, sizeof *c->sets, HW_FIB_SETS_MAX,
                  "next-hop sets", e);
    if (rc)
        return rc;
    const uint8_t *table = cached_table(b, members, n, e);
    struct config_member *list = table ? calloc(n, sizeof *list) : NULL;
    if (!list)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t k = 0; k < n; k++)
        list[k] =
            (struct config_member){.link = members[k]->index,
                                   .weight = b->fleet->gateways[members[k]->peer].gateway->weight};
    struct config_set *s = &c->sets[c->n_sets];
    s->members = list;
    s->n_members = n;
    memcpy(s->bucket, table, sizeof s->bucket);
    *out = (uint32_t)c->n_sets++;
    return 0;
}

/* ---- routes ---- */

static int add_route(struct fib_builder *b, const struct prefix *p, unsigned domain,
                     enum dp_class ingress, enum config_route_target target, uint32_t set,
                     struct err *e)
{
    struct gateway_config *c = b->config;
    int rc = grow(&c->routes, &b->cap_routes, c->n_routes, sizeof *c->routes, HW_FIB_ROUTES_MAX,
                  "routes", e);
    if (rc)
        return rc;
    c->routes[c->n_routes++] = (struct config_route){
        .prefix = *p, .domain = domain, .ingress = ingress, .target = target, .set = set};
    return 0;
}

static int add_local_routes(struct fib_builder *b, struct err *e)
{
    const struct fleet_site *s = &b->fleet->sites[b->site];
    const struct ipaddr own[2] = {b->config->overlay4, b->config->overlay6};
    int rc = 0;
    for (unsigned c = DP_CLASS_ATTACHMENT; !rc && c < DP_CLASS_COUNT; c++) {
        if (!b->has_class[c])
            continue;
        for (size_t i = 0; !rc && i < s->site->n_prefixes; i++)
            rc =
                add_route(b, &s->site->prefixes[i], s->domain, (enum dp_class)c, ROUTE_LOCAL, 0, e);
        for (size_t i = 0; !rc && i < 2; i++) {
            struct prefix p = prefix_of_host(&own[i]);
            if (own[i].family)
                rc = add_route(b, &p, s->domain, (enum dp_class)c, ROUTE_LOCAL, 0, e);
        }
    }
    return rc;
}

/* A peer's overlay addresses go by its own links. */
static int add_peer_routes(struct fib_builder *b, struct err *e)
{
    int rc = 0;
    for (size_t i = 0, n; !rc && i < b->n_links; i += n) {
        n = peer_run(b, i);
        const struct fib_link *members[HW_FIB_SET_MEMBERS_MAX];
        for (size_t k = 0; k < n; k++)
            members[k] = &b->links[i + k];
        const struct topo_gateway *peer = b->fleet->gateways[b->links[i].peer].gateway;
        const struct ipaddr overlay[2] = {peer->overlay4, peer->overlay6};
        for (size_t k = 0; !rc && k < 2; k++) {
            struct prefix p = prefix_of_host(&overlay[k]);
            uint32_t set;
            if (!overlay[k].family)
                continue;
            rc = find_set(b, members, n, &set, e);
            if (!rc)
                rc = add_route(b, &p, b->fleet->sites[b->site].domain, DP_CLASS_SITE, ROUTE_SET,
                               set, e);
        }
    }
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
            listed(sites, n, b->fleet->gateways[mesh_peer(other, l->peer)].site))
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
                       : is_bypass || !listed(b->scratch, n_sites, l->peer_site))
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
            rc = find_set(b, members, n, &set, e);
        for (size_t i = 0; !rc && i < s->site->n_prefixes; i++)
            rc = add_route(b, &s->site->prefixes[i], s->domain, c,
                           n ? ROUTE_SET : ROUTE_UNREACHABLE, set, e);
    }
    return rc;
}

/* ---- order ---- */

static int by_source_prefix(const void *a, const void *b)
{
    return prefix_cmp(&((const struct config_source *)a)->prefix,
                      &((const struct config_source *)b)->prefix);
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

struct set_order {
    const struct config_set *set;
    uint32_t was;
};

static int by_members(const void *a, const void *b)
{
    const struct config_set *x = ((const struct set_order *)a)->set,
                            *y = ((const struct set_order *)b)->set;
    for (size_t i = 0; i < x->n_members && i < y->n_members; i++)
        if (x->members[i].link != y->members[i].link)
            return x->members[i].link < y->members[i].link ? -1 : 1;
    return (x->n_members > y->n_members) - (x->n_members < y->n_members);
}

/* Everything in an order of its own, so that one more prefix adds its lines and moves no others. */
static int put_in_order(struct gateway_config *c, struct err *e)
{
    struct set_order *order = calloc(c->n_sets + 1, sizeof *order);
    struct config_set *sets = calloc(c->n_sets + 1, sizeof *sets);
    uint32_t *now = calloc(c->n_sets + 1, sizeof *now);
    int rc = 0;
    if (!order || !sets || !now) {
        rc = err_set(e, HW_ENOMEM, "out of memory");
        free(sets);
    } else {
        for (size_t i = 0; i < c->n_sets; i++)
            order[i] = (struct set_order){.set = &c->sets[i], .was = (uint32_t)i};
        qsort(order, c->n_sets, sizeof *order, by_members);
        for (size_t i = 0; i < c->n_sets; i++) {
            sets[i] = *order[i].set;
            now[order[i].was] = (uint32_t)i;
        }
        for (size_t i = 0; i < c->n_routes; i++)
            if (c->routes[i].target == ROUTE_SET)
                c->routes[i].set = now[c->routes[i].set];
        free(c->sets);
        c->sets = sets;
        if (c->n_sources)
            qsort(c->sources, c->n_sources, sizeof *c->sources, by_source_prefix);
        if (c->n_routes)
            qsort(c->routes, c->n_routes, sizeof *c->routes, by_route_key);
    }
    free(order);
    free(now);
    return rc;
}

static int fill(struct fib_builder *b, struct err *e)
{
    int rc = collect_links(b, e);
    if (!rc)
        rc = add_own_sources(b, e);
    if (!rc)
        rc = add_peer_sources(b, e);
    for (size_t i = 0; !rc && i < b->fleet->n_sites; i++)
        if (i != b->site)
            rc = add_site_sources(b, i, e);
    if (!rc)
        rc = add_local_routes(b, e);
    if (!rc)
        rc = add_peer_routes(b, e);
    for (size_t i = 0; !rc && i < b->fleet->n_sites; i++)
        if (i != b->site)
            rc = add_site_routes(b, i, e);
    return rc ? rc : put_in_order(b->config, e);
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
