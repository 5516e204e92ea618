/* The planner's view of the store: everything that planning needs, in one consistent read. */
#ifndef HAWSER_CONTROLLER_PUSH_TOPOLOGY_LOAD_H
#define HAWSER_CONTROLLER_PUSH_TOPOLOGY_LOAD_H

#include "common/err.h"
#include "controller/planner/topology.h"
#include "controller/store/link.h"
#include "controller/store/site.h"
#include "controller/store/site_join.h"
#include "controller/store/store.h"

struct loaded_topology {
    struct topology topology; /* points into the rest */
    struct store_site *site_rows;
    struct store_link *link_rows; /* as stored, by id */
    size_t n_link_rows;
    struct store_site_join *join_rows; /* as stored, by (site_a_id, site_b_id) */
    size_t n_join_rows;
    struct topo_site *sites;
    struct firewall *firewalls; /* of sites[] */
    struct topo_gateway *gateways;
    struct topo_connection *connections;
    struct topo_link *links;
    struct topo_domain *domains;
    struct topo_join *joins;
};

/* On failure *out is empty. */
int topology_load(struct db *db, struct loaded_topology *out, struct err *e);
void loaded_topology_done(struct loaded_topology *t);

#endif
