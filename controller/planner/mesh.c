#include "controller/planner/mesh.h"
#include "controller/planner/tunnel_set.h"
#include <stdio.h>
#include <stdlib.h>

/* Probes of one gateway a second, all tunnels together (DESIGN section 7). */
#define PROBES_PER_SECOND_MAX 20000u

/* What makes a link the same link in two plans. */
static int key_cmp(const struct topo_link *x, const struct topo_link *y)
{
    int c = id_cmp(&x->connection_id, &y->connection_id);
    if (c == 0)
        c = id_cmp(&x->gateway_a, &y->gateway_a);
    return c ? c : id_cmp(&x->gateway_b, &y->gateway_b);
}

static int by_key(const void *a, const void *b)
{
    return key_cmp(*(const struct topo_link *const *)a, *(const struct topo_link *const *)b);
}

static int by_link_id(const void *a, const void *b)
{
    return id_cmp(&((const struct mesh_link *)a)->plan.id, &((const struct mesh_link *)b)->plan.id);
}

struct builder {
    struct mesh *mesh;
    const struct fleet *fleet;
    const struct topo_link **existing; /* by key */
    size_t n_existing;
    struct port_load *loads; /* for each gateway */
    size_t cap;
};

static const struct topo_link *find_existing(const struct builder *b, const struct topo_link *key)
{
    if (!b->n_existing)
        return NULL;
    const struct topo_link **hit =
        bsearch(&key, b->existing, b->n_existing, sizeof *b->existing, by_key);
    return hit ? *hit : NULL;
}

static struct tunnel_end tunnel_end(const struct topo_gateway *g)
{
    return (struct tunnel_end){
        .name = g->name, .size = g->size, .vcpus = g->vcpus, .workers = g->workers};
}

/* Adds the link between two gateways. Its port offset is known already when the link is; new ones
 * get theirs when all old ones have taken their ports. */
static int add_link(struct builder *b, const struct topo_connection *c, enum link_kind kind,
                    size_t ga, size_t gb, struct err *e)
{
    struct mesh *m = b->mesh;
    if (m->n_links == b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 64;
        struct mesh_link *grown = realloc(m->links, cap * sizeof *grown);
        if (!grown)
            return err_set(e, HW_ENOMEM, "out of memory");
        m->links = grown;
        b->cap = cap;
    }
    const struct topology *t = b->fleet->topology;
    const struct topo_gateway *a = b->fleet->gateways[ga].gateway,
                              *z = b->fleet->gateways[gb].gateway;
    struct topo_link key = {.gateway_a = a->id, .gateway_b = z->id};
    if (c)
        key.connection_id = c->id;
    const struct topo_link *old = find_existing(b, &key);
    if (old && (old->port_offset >= HW_PORTS_PER_GATEWAY ||
                old->tunnels_override > HW_TUNNELS_PER_LINK_MAX))
        return err_set_field(e, HW_EINVAL, "port_offset", "a stored link is out of range");

    struct mesh_link *l = &m->links[m->n_links++];
    *l = (struct mesh_link){.connection = c, .gateway_a = ga, .gateway_b = gb};
    l->plan = (struct planned_link){.id = old ? old->id : t->new_id(t->new_id_arg),
                                    .connection_id = key.connection_id,
                                    .kind = kind,
                                    .gateway_a = a->id,
                                    .gateway_b = z->id,
                                    .enabled = (!c || c->enabled) && (!old || old->enabled),
                                    .port_offset = old ? old->port_offset : 0,
                                    .created = !old};
    struct tunnel_end end_a = tunnel_end(a), end_z = tunnel_end(z);
    l->plan.tunnels = tunnel_set_count(old ? old->tunnels_override : 0, c ? c->tunnels : 0, &end_a,
                                       &end_z, l->plan.tunnels_reason);
    l->interval_ms = c ? c->liveness_interval_ms : TOPOLOGY_INTERVAL_DEFAULT;
    if (old) {
        tunnel_set_occupy(&b->loads[ga], l->plan.port_offset, l->plan.tunnels);
        tunnel_set_occupy(&b->loads[gb], l->plan.port_offset, l->plan.tunnels);
    }
    return 0;
}

/* Every gateway of one site with every gateway of the other, and inside each site every two. */
static int add_links(struct builder *b, struct err *e)
{
    const struct fleet *f = b->fleet;
    int rc = 0;
    for (size_t i = 0; !rc && i < f->n_connections; i++) {
        const struct fleet_connection *c = &f->connections[i];
        const struct fleet_site *a = &f->sites[c->site_a], *z = &f->sites[c->site_b];
        for (size_t x = 0; !rc && x < a->n_gateways; x++)
            for (size_t y = 0; !rc && y < z->n_gateways; y++)
                rc = add_link(b, c->connection, c->kind, a->gateways[x], z->gateways[y], e);
    }
    for (size_t i = 0; !rc && i < f->n_sites; i++)
        for (size_t x = 0; !rc && x < f->sites[i].n_gateways; x++)
            for (size_t y = x + 1; !rc && y < f->sites[i].n_gateways; y++)
                rc = add_link(b, NULL, LINK_BYPASS, f->sites[i].gateways[x],
                              f->sites[i].gateways[y], e);
    return rc;
}

static void place_new(struct builder *b)
{
    for (size_t i = 0; i < b->mesh->n_links; i++) {
        struct mesh_link *l = &b->mesh->links[i];
        if (!l->plan.created)
            continue;
        struct port_load *la = &b->loads[l->gateway_a], *lb = &b->loads[l->gateway_b];
        l->plan.port_offset = tunnel_set_offset(la, lb, l->plan.tunnels);
        tunnel_set_occupy(la, l->plan.port_offset, l->plan.tunnels);
        tunnel_set_occupy(lb, l->plan.port_offset, l->plan.tunnels);
    }
}

static void address_links(struct mesh *m, const struct fleet *f)
{
    for (size_t i = 0; i < m->n_links; i++) {
        struct mesh_link *l = &m->links[i];
        const struct topo_gateway *a = f->gateways[l->gateway_a].gateway,
                                  *b = f->gateways[l->gateway_b].gateway;
        if (a->state != TOPO_GATEWAY_ENROLLED || b->state != TOPO_GATEWAY_ENROLLED) {
            l->plan.state = PLANNED_LINK_PENDING;
            continue;
        }
        struct err why = {0};
        const struct topo_connection *c = l->connection;
        if (addressing_pair(a, b, c ? c->path : TOPO_PATH_AUTO, c ? c->underlay_family : 0,
                            &l->pair, &why)) {
            l->plan.state = PLANNED_LINK_REFUSED;
            memcpy(l->plan.field, why.field, sizeof l->plan.field);
            (void)snprintf(l->plan.reason, sizeof l->plan.reason, "%.*s", PLANNED_REASON_MAX - 1,
                           why.text);
            continue;
        }
        l->plan.state = PLANNED_LINK_READY;
        l->plan.address_a = l->pair.a.address;
        l->plan.address_b = l->pair.b.address;
    }
}

static int index_by_gateway(struct mesh *m, const struct fleet *f, struct err *e)
{
    m->n_gateways = f->n_gateways;
    m->of_gateway = calloc(f->n_gateways + 1, sizeof *m->of_gateway);
    m->n_of_gateway = calloc(f->n_gateways + 1, sizeof *m->n_of_gateway);
    if (!m->of_gateway || !m->n_of_gateway)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < m->n_links; i++) {
        if (m->links[i].plan.state != PLANNED_LINK_READY)
            continue;
        m->n_of_gateway[m->links[i].gateway_a]++;
        m->n_of_gateway[m->links[i].gateway_b]++;
    }
    for (size_t g = 0; g < f->n_gateways; g++) {
        if (m->n_of_gateway[g] > HW_LINKS_MAX)
            return err_set(e, HW_EINVAL, "gateway %s would have %zu links, the limit is %d",
                           f->gateways[g].gateway->name, m->n_of_gateway[g], HW_LINKS_MAX);
        m->of_gateway[g] = calloc(m->n_of_gateway[g] + 1, sizeof(size_t));
        if (!m->of_gateway[g])
            return err_set(e, HW_ENOMEM, "out of memory");
        m->n_of_gateway[g] = 0;
    }
    for (size_t i = 0; i < m->n_links; i++) {
        const struct mesh_link *l = &m->links[i];
        if (l->plan.state != PLANNED_LINK_READY)
            continue;
        m->of_gateway[l->gateway_a][m->n_of_gateway[l->gateway_a]++] = i;
        m->of_gateway[l->gateway_b][m->n_of_gateway[l->gateway_b]++] = i;
    }
    return 0;
}

/* How many times too often a gateway would probe; at least 1. */
static uint64_t probe_excess(const struct mesh *m, size_t gateway)
{
    uint64_t per_kilosecond = 0;
    for (size_t i = 0; i < m->n_of_gateway[gateway]; i++) {
        const struct mesh_link *l = &m->links[m->of_gateway[gateway][i]];
        if (mesh_usable(l))
            per_kilosecond += 1000000ull * l->plan.tunnels / l->interval_ms;
    }
    uint64_t cap = 1000ull * PROBES_PER_SECOND_MAX;
    return per_kilosecond <= cap ? 1 : (per_kilosecond + cap - 1) / cap;
}

/* Longer intervals where a gateway would send more probes than it may; both ends of a link get the
 * same. */
static int cap_probes_and_tunnels(struct mesh *m, const struct fleet *f, struct err *e)
{
    uint64_t *excess = calloc(f->n_gateways + 1, sizeof *excess);
    if (!excess)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t g = 0; g < f->n_gateways; g++) {
        size_t tunnels = 0;
        for (size_t i = 0; i < m->n_of_gateway[g]; i++)
            tunnels += m->links[m->of_gateway[g][i]].plan.tunnels;
        if (tunnels > HW_TUNNELS_MAX) {
            free(excess);
            return err_set_field(e, HW_EINVAL, "tunnels",
                                 "gateway %s would have %zu tunnels, the limit is %d",
                                 f->gateways[g].gateway->name, tunnels, HW_TUNNELS_MAX);
        }
        excess[g] = probe_excess(m, g);
    }
    for (size_t i = 0; i < m->n_links; i++) {
        struct mesh_link *l = &m->links[i];
        uint64_t by = excess[l->gateway_a] > excess[l->gateway_b] ? excess[l->gateway_a]
                                                                  : excess[l->gateway_b];
        uint64_t interval = l->interval_ms * by;
        l->interval_ms = interval > 60000 ? 60000 : (uint32_t)interval;
    }
    free(excess);
    return 0;
}

static void mark_edges(const struct mesh *m, struct fleet *f)
{
    for (size_t i = 0; i < m->n_links; i++) {
        const struct mesh_link *l = &m->links[i];
        if (!mesh_usable(l) || l->plan.kind == LINK_BYPASS)
            continue;
        size_t a = f->gateways[l->gateway_a].site, b = f->gateways[l->gateway_b].site;
        fleet_edge(f, a, b)->usable = true;
        fleet_edge(f, b, a)->usable = true;
    }
}

static int build(struct builder *b, struct fleet *f, struct err *e)
{
    struct mesh *m = b->mesh;
    int rc = add_links(b, e);
    if (rc)
        return rc;
    place_new(b);
    if (m->n_links)
        qsort(m->links, m->n_links, sizeof *m->links, by_link_id);
    for (size_t i = 1; i < m->n_links; i++)
        if (id_equal(&m->links[i - 1].plan.id, &m->links[i].plan.id))
            return err_set(e, HW_EINVAL, "two links have the same id");
    address_links(m, f);
    rc = index_by_gateway(m, f, e);
    if (!rc)
        rc = cap_probes_and_tunnels(m, f, e);
    if (!rc)
        mark_edges(m, f);
    return rc;
}

int mesh_init(struct mesh *m, struct fleet *f, struct err *e)
{
    *m = (struct mesh){0};
    const struct topology *t = f->topology;
    struct builder b = {.mesh = m, .fleet = f, .n_existing = t->n_links};
    b.existing = calloc(t->n_links + 1, sizeof *b.existing);
    b.loads = calloc(f->n_gateways + 1, sizeof *b.loads);
    int rc;
    if (!b.existing || !b.loads) {
        rc = err_set(e, HW_ENOMEM, "out of memory");
    } else {
        for (size_t i = 0; i < t->n_links; i++)
            b.existing[i] = &t->links[i];
        qsort(b.existing, b.n_existing, sizeof *b.existing, by_key);
        rc = build(&b, f, e);
    }
    free(b.existing);
    free(b.loads);
    if (rc)
        mesh_done(m);
    return rc;
}

void mesh_done(struct mesh *m)
{
    if (m->of_gateway)
        for (size_t g = 0; g < m->n_gateways; g++)
            free(m->of_gateway[g]);
    free(m->of_gateway);
    free(m->n_of_gateway);
    free(m->links);
    *m = (struct mesh){0};
}

bool mesh_usable(const struct mesh_link *l)
{
    return l->plan.state == PLANNED_LINK_READY && l->plan.enabled;
}

size_t mesh_peer(const struct mesh_link *l, size_t gateway)
{
    return l->gateway_a == gateway ? l->gateway_b : l->gateway_a;
}
