#include "controller/planner/fleet.h"
#include "controller/planner/planner.h"
#include <stdlib.h>

static int by_site_id(const void *a, const void *b)
{
    return id_cmp(&((const struct fleet_site *)a)->site->id,
                  &((const struct fleet_site *)b)->site->id);
}

static int by_gateway_id(const void *a, const void *b)
{
    return id_cmp(&((const struct fleet_gateway *)a)->gateway->id,
                  &((const struct fleet_gateway *)b)->gateway->id);
}

static int by_connection_id(const void *a, const void *b)
{
    return id_cmp(&((const struct fleet_connection *)a)->connection->id,
                  &((const struct fleet_connection *)b)->connection->id);
}

static int by_domain_number(const void *a, const void *b)
{
    const struct topo_domain *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static int by_domain_name(const void *a, const void *b)
{
    return strcmp(((const struct topo_domain *)a)->name, ((const struct topo_domain *)b)->name);
}

static int by_edge_site(const void *a, const void *b)
{
    const struct fleet_edge *x = a, *y = b;
    return (x->site > y->site) - (x->site < y->site);
}

/* Index of the site with this id, or n_sites. */
static size_t find_site(const struct fleet *f, const struct hw_id *id)
{
    size_t lo = 0, hi = f->n_sites;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = id_cmp(&f->sites[mid].site->id, id);
        if (c == 0)
            return mid;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return f->n_sites;
}

static int load_sites(struct fleet *f, struct err *e)
{
    const struct topology *t = f->topology;
    f->sites = calloc(t->n_sites ? t->n_sites : 1, sizeof *f->sites);
    if (!f->sites)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < t->n_sites; i++)
        f->sites[i].site = &t->sites[i];
    f->n_sites = t->n_sites;
    qsort(f->sites, f->n_sites, sizeof *f->sites, by_site_id);
    for (size_t i = 1; i < f->n_sites; i++)
        if (id_equal(&f->sites[i - 1].site->id, &f->sites[i].site->id))
            return err_set_field(e, HW_EINVAL, "id", "two sites have the same id");
    return 0;
}

static int load_gateways(struct fleet *f, struct err *e)
{
    const struct topology *t = f->topology;
    f->gateways = calloc(t->n_gateways ? t->n_gateways : 1, sizeof *f->gateways);
    if (!f->gateways)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < t->n_gateways; i++) {
        const struct topo_gateway *g = &t->gateways[i];
        if (g->state == TOPO_GATEWAY_REVOKED)
            continue;
        size_t site = find_site(f, &g->site_id);
        if (site == f->n_sites)
            return err_set_field(e, HW_EINVAL, "site_id", "gateway %s: no such site", g->name);
        f->gateways[f->n_gateways++] = (struct fleet_gateway){.gateway = g, .site = site};
        f->sites[site].n_gateways++;
    }
    qsort(f->gateways, f->n_gateways, sizeof *f->gateways, by_gateway_id);
    for (size_t i = 1; i < f->n_gateways; i++)
        if (id_equal(&f->gateways[i - 1].gateway->id, &f->gateways[i].gateway->id))
            return err_set_field(e, HW_EINVAL, "id", "two gateways have the same id");
    for (size_t i = 0; i < f->n_sites; i++) {
        f->sites[i].gateways = calloc(f->sites[i].n_gateways + 1, sizeof(size_t));
        if (!f->sites[i].gateways)
            return err_set(e, HW_ENOMEM, "out of memory");
        f->sites[i].n_gateways = 0;
    }
    for (size_t i = 0; i < f->n_gateways; i++) {
        struct fleet_site *s = &f->sites[f->gateways[i].site];
        s->gateways[s->n_gateways++] = i;
    }
    return 0;
}

static int load_connections(struct fleet *f, struct err *e)
{
    const struct topology *t = f->topology;
    f->connections = calloc(t->n_connections ? t->n_connections : 1, sizeof *f->connections);
    if (!f->connections)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < t->n_connections; i++) {
        struct fleet_connection *c = &f->connections[f->n_connections++];
        c->connection = &t->connections[i];
        c->site_a = find_site(f, &c->connection->site_a);
        c->site_b = find_site(f, &c->connection->site_b);
        if (c->site_a == f->n_sites || c->site_b == f->n_sites)
            return err_set_field(e, HW_EINVAL, c->site_a == f->n_sites ? "site_a_id" : "site_b_id",
                                 "connection %s: no such site", c->connection->name);
        if (c->site_a == c->site_b)
            return err_set_field(e, HW_EINVAL, "site_b_id",
                                 "connection %s joins a site with itself", c->connection->name);
        int rc = planner_connection_kind(f->sites[c->site_a].site->role,
                                         f->sites[c->site_b].site->role, &c->kind, e);
        if (rc)
            return err_wrap(e, "connection %s", c->connection->name);
    }
    qsort(f->connections, f->n_connections, sizeof *f->connections, by_connection_id);
    for (size_t i = 1; i < f->n_connections; i++)
        if (id_equal(&f->connections[i - 1].connection->id, &f->connections[i].connection->id))
            return err_set_field(e, HW_EINVAL, "id", "two connections have the same id");
    return 0;
}

static int add_edge(struct fleet_site *s, size_t to, enum link_kind kind, struct err *e)
{
    for (size_t i = 0; i < s->n_edges; i++)
        if (s->edges[i].site == to)
            return 0;
    struct fleet_edge *grown = realloc(s->edges, (s->n_edges + 1) * sizeof *grown);
    if (!grown)
        return err_set(e, HW_ENOMEM, "out of memory");
    s->edges = grown;
    s->edges[s->n_edges++] = (struct fleet_edge){.site = to, .kind = kind};
    return 0;
}

static int load_edges(struct fleet *f, struct err *e)
{
    for (size_t i = 0; i < f->n_connections; i++) {
        const struct fleet_connection *c = &f->connections[i];
        int rc = add_edge(&f->sites[c->site_a], c->site_b, c->kind, e);
        if (!rc)
            rc = add_edge(&f->sites[c->site_b], c->site_a, c->kind, e);
        if (rc)
            return rc;
    }
    for (size_t i = 0; i < f->n_sites; i++)
        if (f->sites[i].n_edges)
            qsort(f->sites[i].edges, f->sites[i].n_edges, sizeof *f->sites[i].edges, by_edge_site);
    return 0;
}

static unsigned known_number(const struct topology *t, const char *name)
{
    for (size_t i = 0; i < t->n_domains; i++)
        if (strcmp(t->domains[i].name, name) == 0)
            return t->domains[i].number;
    return 0;
}

/* Domains keep the number that they have; new names take the lowest free ones, in the order of the
 * names. A number whose name is no longer used is free again: numbers mean something only within
 * one config. */
static int load_domains(struct fleet *f, struct err *e)
{
    bool taken[HW_DOMAINS_MAX] = {false};
    f->domains = calloc(f->n_sites ? f->n_sites : 1, sizeof *f->domains);
    if (!f->domains)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < f->n_sites; i++)
        memcpy(f->domains[i].name, f->sites[i].site->domain, sizeof f->domains[i].name);
    qsort(f->domains, f->n_sites, sizeof *f->domains, by_domain_name);
    for (size_t i = 0; i < f->n_sites; i++)
        if (i == 0 || strcmp(f->domains[i].name, f->domains[f->n_domains - 1].name) != 0)
            f->domains[f->n_domains++] = f->domains[i];
    for (size_t i = 0; i < f->n_domains; i++) {
        unsigned n = known_number(f->topology, f->domains[i].name);
        if (n >= HW_DOMAINS_MAX || (n && taken[n]))
            return err_set_field(e, HW_EINVAL, "domain", "domain %s has a bad number",
                                 f->domains[i].name);
        f->domains[i].number = n;
        taken[n] = true;
    }
    unsigned next = 1;
    for (size_t i = 0; i < f->n_domains; i++) {
        if (f->domains[i].number)
            continue;
        while (next < HW_DOMAINS_MAX && taken[next])
            next++;
        if (next == HW_DOMAINS_MAX)
            return err_set_field(e, HW_EINVAL, "domain", "more than %d domains",
                                 HW_DOMAINS_MAX - 1);
        f->domains[i].number = next++;
    }
    for (size_t i = 0; i < f->n_sites; i++)
        for (size_t j = 0; j < f->n_domains; j++)
            if (strcmp(f->sites[i].site->domain, f->domains[j].name) == 0)
                f->sites[i].domain = f->domains[j].number;
    qsort(f->domains, f->n_domains, sizeof *f->domains, by_domain_number);
    return 0;
}

static int by_join(const void *a, const void *b)
{
    const struct fleet_join *x = a, *y = b;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static int load_joins(struct fleet *f, struct err *e)
{
    const struct topology *t = f->topology;
    f->joins = calloc(t->n_joins + 1, sizeof *f->joins);
    if (!f->joins)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < t->n_joins; i++) {
        size_t a = find_site(f, &t->joins[i].site_a), b = find_site(f, &t->joins[i].site_b);
        if (a >= b || b == f->n_sites)
            return err_set_field(e, HW_EINVAL, "site_a_id", "sites that were joined: no such pair");
        f->joins[f->n_joins++] = (struct fleet_join){a, b};
    }
    qsort(f->joins, f->n_joins, sizeof *f->joins, by_join);
    return 0;
}

int fleet_init(struct fleet *f, const struct topology *t, struct err *e)
{
    *f = (struct fleet){.topology = t};
    int rc = load_sites(f, e);
    if (!rc)
        rc = load_gateways(f, e);
    if (!rc)
        rc = load_connections(f, e);
    if (!rc)
        rc = load_edges(f, e);
    if (!rc)
        rc = load_domains(f, e);
    if (!rc)
        rc = load_joins(f, e);
    if (rc)
        fleet_done(f);
    return rc;
}

void fleet_done(struct fleet *f)
{
    for (size_t i = 0; i < f->n_sites; i++) {
        free(f->sites[i].gateways);
        free(f->sites[i].edges);
    }
    free(f->sites);
    free(f->gateways);
    free(f->connections);
    free(f->domains);
    free(f->joins);
    *f = (struct fleet){0};
}

struct fleet_edge *fleet_edge(const struct fleet *f, size_t from, size_t to)
{
    struct fleet_edge key = {.site = to};
    const struct fleet_site *s = &f->sites[from];
    return s->n_edges ? bsearch(&key, s->edges, s->n_edges, sizeof key, by_edge_site) : NULL;
}

bool fleet_once_joined(const struct fleet *f, size_t x, size_t y)
{
    struct fleet_join key = {x < y ? x : y, x < y ? y : x};
    return f->n_joins && bsearch(&key, f->joins, f->n_joins, sizeof key, by_join) != NULL;
}

bool fleet_is_transit(const struct fleet *f, size_t site)
{
    return f->sites[site].site->role == SITE_TRANSIT;
}
