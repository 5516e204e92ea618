#include "controller/push/topology_load.h"
#include "common/model/node.h"
#include "controller/firewall/section.h"
#include "controller/push/reported.h"
#include "controller/store/connection.h"
#include "controller/store/domain.h"
#include "controller/store/encryption_permission.h"
#include "controller/store/gateway.h"
#include "controller/store/size.h"
#include <stdlib.h>
#include <string.h>

static struct hw_id random_id(void *arg)
{
    (void)arg;
    return id_new();
}

static int load_sites(struct db *db, struct loaded_topology *t, struct err *e)
{
    size_t n = 0;
    int rc = store_site_all(db, &t->site_rows, &n, e);
    if (rc)
        return rc;
    t->sites = calloc(n + 1, sizeof *t->sites);
    if (!t->sites)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const struct store_site *s = &t->site_rows[i];
        t->sites[i] = (struct topo_site){
            .id = s->id, .role = s->role, .prefixes = s->cidrs, .n_prefixes = s->n_cidrs};
        memcpy(t->sites[i].name, s->name, sizeof t->sites[i].name);
        memcpy(t->sites[i].domain, s->domain, sizeof t->sites[i].domain);
    }
    t->topology.sites = t->sites;
    t->topology.n_sites = n;
    return 0;
}

static int load_firewalls(struct db *db, struct loaded_topology *t, struct err *e)
{
    int rc = 0;
    t->firewalls = calloc(t->topology.n_sites + 1, sizeof *t->firewalls);
    if (!t->firewalls)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < t->topology.n_sites && !rc; i++) {
        rc = firewall_section_of_site(db, &t->sites[i].id, &t->firewalls[i], e);
        t->sites[i].firewall = &t->firewalls[i];
    }
    return rc;
}

/* Before the machine has reported: a private address is taken to stand on it, a public one only
 * where there is no private one of that family that the cloud could be translating. */
static bool presumed_on_host(const struct store_gateway *g, const struct store_endpoint *p)
{
    if (!p->is_public)
        return true;
    for (size_t i = 0; i < g->n_endpoints; i++)
        if (!g->endpoints[i].is_public && g->endpoints[i].address.family == p->address.family)
            return false;
    return true;
}

static void take_own(const struct node *node, struct topo_gateway *out)
{
    for (size_t i = 0; i < node->n_interfaces; i++) {
        const struct node_interface *f = &node->interfaces[i];
        for (size_t k = 0; f->role != NODE_SITE && k < f->n_addresses; k++) {
            struct ipaddr *own = f->addresses[k].addr.family == 4 ? &out->own4 : &out->own6;
            if (!own->family)
                *own = f->addresses[k].addr;
        }
    }
}

/* MTU of the interface that packets of that endpoint use; 0: not known. */
static unsigned mtu_of(const struct node *node, const struct topo_gateway *g,
                       const struct ipaddr *address)
{
    const struct node_interface *on = reported_interface(node, address);
    if (!on)
        on = reported_interface(node, address->family == 4 ? &g->own4 : &g->own6);
    return on ? on->mtu : 0;
}

static int load_endpoints(const struct store_gateway *g, struct topo_gateway *out, struct err *e)
{
    struct node *node = NULL;
    int rc = reported_node(g, &node, e);
    if (rc)
        return rc;
    if (node)
        take_own(node, out);
    for (size_t i = 0; i < g->n_endpoints; i++) {
        const struct store_endpoint *p = &g->endpoints[i];
        bool on_host = reported_interface(node, &p->address) != NULL;
        out->endpoints[out->n_endpoints++] =
            (struct topo_endpoint){.address = p->address,
                                   .scope = p->is_public ? TOPO_PUBLIC : TOPO_PRIVATE,
                                   .mtu = mtu_of(node, out, &p->address),
                                   .reachable = p->reachable,
                                   .on_host = node ? on_host : presumed_on_host(g, p)};
    }
    free(node);
    return 0;
}

static int take_gateway(const struct store_gateway *g, struct topo_gateway *out, struct err *e)
{
    static const enum topo_gateway_state states[] = {[GATEWAY_PENDING] = TOPO_GATEWAY_PENDING,
                                                     [GATEWAY_ENROLLED] = TOPO_GATEWAY_ENROLLED,
                                                     [GATEWAY_REVOKED] = TOPO_GATEWAY_REVOKED};
    *out = (struct topo_gateway){.id = g->id,
                                 .site_id = g->site_id,
                                 .state = states[g->state],
                                 .port_base = g->port_base,
                                 .weight = g->weight,
                                 .workers = g->workers,
                                 .overlay4 = g->overlay4,
                                 .overlay6 = g->overlay6};
    memcpy(out->name, g->name, sizeof out->name);
    memcpy(out->size, g->size, sizeof out->size);
    return load_endpoints(g, out, e);
}

static const char *provider_of(const struct loaded_topology *t, const struct hw_id *site_id)
{
    for (size_t i = 0; i < t->topology.n_sites; i++)
        if (id_equal(&t->site_rows[i].id, site_id))
            return t->site_rows[i].provider;
    return "";
}

/* A gateway's size is the one of that name at its site's provider. */
static int load_sizes(struct db *db, struct loaded_topology *t, struct err *e)
{
    struct store_size *sizes = NULL;
    size_t n = 0;
    int rc = store_size_all(db, &sizes, &n, e);
    for (size_t i = 0; !rc && i < t->topology.n_gateways; i++) {
        struct topo_gateway *g = &t->gateways[i];
        const char *provider = provider_of(t, &g->site_id);
        for (size_t k = 0; k < n && g->size[0] && !g->vcpus; k++)
            if (strcmp(sizes[k].size, g->size) == 0 && strcmp(sizes[k].provider, provider) == 0)
                g->vcpus = sizes[k].vcpus;
    }
    free(sizes);
    return rc;
}

static int load_gateways(struct db *db, struct loaded_topology *t, struct err *e)
{
    struct store_gateway *rows = NULL;
    size_t n = 0;
    int rc = store_gateway_all(db, &rows, &n, e);
    if (rc)
        return rc;
    t->gateways = calloc(n + 1, sizeof *t->gateways);
    if (!t->gateways)
        rc = err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; !rc && i < n; i++)
        rc = take_gateway(&rows[i], &t->gateways[i], e);
    store_gateway_free(rows, n);
    t->topology.gateways = t->gateways;
    t->topology.n_gateways = n;
    return rc;
}

static void take_connection(const struct store_connection *c, struct topo_connection *out)
{
    static const enum topo_path paths[] = {[PATH_AUTO] = TOPO_PATH_AUTO,
                                           [PATH_PRIVATE] = TOPO_PATH_PRIVATE,
                                           [PATH_PUBLIC] = TOPO_PATH_PUBLIC};
    *out = (struct topo_connection){.id = c->id,
                                    .site_a = c->site_a_id,
                                    .site_b = c->site_b_id,
                                    .path = paths[c->path],
                                    .underlay_family = c->underlay_family,
                                    .tunnels = c->tunnels,
                                    .n_suites = c->n_suites,
                                    .enabled = c->enabled,
                                    .liveness_interval_ms = c->liveness_interval_ms,
                                    .liveness_missed = c->liveness_missed};
    _Static_assert(sizeof out->suite_order == sizeof c->suites, "the same list of suites");
    memcpy(out->suite_order, c->suites, sizeof out->suite_order);
    memcpy(out->name, c->name, sizeof out->name);
}

static int load_permissions(struct db *db, struct loaded_topology *t, struct err *e)
{
    struct store_permission *rows = NULL;
    size_t n = 0;
    int rc = store_permission_all(db, &rows, &n, e);
    for (size_t i = 0; !rc && i < n; i++)
        for (size_t k = 0; k < t->topology.n_connections; k++)
            if (id_equal(&t->connections[k].id, &rows[i].connection_id))
                t->connections[k].permission = (struct config_permission){
                    .id = rows[i].id, .suite = rows[i].suite, .until = rows[i].ends_at};
    free(rows);
    return rc;
}

static int load_connections(struct db *db, struct loaded_topology *t, struct err *e)
{
    struct store_connection *rows = NULL;
    size_t n = 0;
    int rc = store_connection_all(db, &rows, &n, e);
    if (rc)
        return rc;
    t->connections = calloc(n + 1, sizeof *t->connections);
    if (!t->connections)
        rc = err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; !rc && i < n; i++)
        take_connection(&rows[i], &t->connections[i]);
    free(rows);
    t->topology.connections = t->connections;
    t->topology.n_connections = n;
    return rc ? rc : load_permissions(db, t, e);
}

static int load_links(struct db *db, struct loaded_topology *t, struct err *e)
{
    int rc = store_link_all(db, &t->link_rows, &t->n_link_rows, e);
    if (rc)
        return rc;
    t->links = calloc(t->n_link_rows + 1, sizeof *t->links);
    if (!t->links)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < t->n_link_rows; i++) {
        const struct store_link *l = &t->link_rows[i];
        t->links[i] = (struct topo_link){.id = l->id,
                                         .connection_id = l->connection_id,
                                         .gateway_a = l->gateway_a_id,
                                         .gateway_b = l->gateway_b_id,
                                         .enabled = l->enabled,
                                         .tunnels_override = l->tunnels_override,
                                         .port_offset = l->port_offset};
    }
    t->topology.links = t->links;
    t->topology.n_links = t->n_link_rows;
    return 0;
}

static int load_domains(struct db *db, struct loaded_topology *t, struct err *e)
{
    struct store_domain *rows = NULL;
    size_t n = 0;
    int rc = store_domain_all(db, &rows, &n, e);
    if (rc)
        return rc;
    t->domains = calloc(n + 1, sizeof *t->domains);
    if (!t->domains)
        rc = err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; !rc && i < n; i++) {
        memcpy(t->domains[i].name, rows[i].name, sizeof t->domains[i].name);
        t->domains[i].number = rows[i].number;
    }
    free(rows);
    t->topology.domains = t->domains;
    t->topology.n_domains = n;
    return rc;
}

static int load_joins(struct db *db, struct loaded_topology *t, struct err *e)
{
    int rc = store_site_join_all(db, &t->join_rows, &t->n_join_rows, e);
    if (rc)
        return rc;
    t->joins = calloc(t->n_join_rows + 1, sizeof *t->joins);
    if (!t->joins)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < t->n_join_rows; i++)
        t->joins[i] = (struct topo_join){.site_a = t->join_rows[i].site_a_id,
                                         .site_b = t->join_rows[i].site_b_id,
                                         .joined = t->join_rows[i].joined};
    t->topology.joins = t->joins;
    t->topology.n_joins = t->n_join_rows;
    return 0;
}

int topology_load(struct db *db, struct loaded_topology *out, struct err *e)
{
    struct loaded_topology t = {.topology = {.new_id = random_id}};
    int rc = store_seeds(db, &t.topology.flow_seed, &t.topology.tunnel_seed, e);
    if (!rc)
        rc = load_sites(db, &t, e);
    if (!rc)
        rc = load_firewalls(db, &t, e);
    if (!rc)
        rc = load_gateways(db, &t, e);
    if (!rc)
        rc = load_sizes(db, &t, e);
    if (!rc)
        rc = load_connections(db, &t, e);
    if (!rc)
        rc = load_links(db, &t, e);
    if (!rc)
        rc = load_domains(db, &t, e);
    if (!rc)
        rc = load_joins(db, &t, e);
    if (rc) {
        loaded_topology_done(&t);
        return err_wrap(e, "load the topology");
    }
    *out = t;
    return 0;
}

void loaded_topology_done(struct loaded_topology *t)
{
    free(t->site_rows);
    free(t->link_rows);
    for (size_t i = 0; t->firewalls && i < t->topology.n_sites; i++)
        firewall_done(&t->firewalls[i]);
    free(t->firewalls);
    free(t->sites);
    free(t->gateways);
    free(t->connections);
    free(t->links);
    free(t->domains);
    free(t->join_rows);
    free(t->joins);
    *t = (struct loaded_topology){0};
}
