/*
 * The topology sorted, cross-referenced and checked: what every step of the planner works on.
 * References are indexes, so that nothing below searches.
 */
#ifndef HAWSER_CONTROLLER_PLANNER_FLEET_H
#define HAWSER_CONTROLLER_PLANNER_FLEET_H

#include "controller/planner/topology.h"

/* A neighbouring site. Several connections between the same two sites are one edge. */
struct fleet_edge {
    size_t site;
    enum link_kind kind;
    bool usable; /* at least one link of it may carry traffic now; set by the mesh */
};

struct fleet_site {
    const struct topo_site *site;
    unsigned domain;
    size_t *gateways; /* by id */
    size_t n_gateways;
    struct fleet_edge *edges; /* by site */
    size_t n_edges;
};

struct fleet_gateway {
    const struct topo_gateway *gateway;
    size_t site;
};

struct fleet_connection {
    const struct topo_connection *connection;
    size_t site_a, site_b;
    enum link_kind kind;
};

/* Two sites that have been joined, as of the topology: the lower index first. */
struct fleet_join {
    size_t a, b;
};

struct fleet {
    const struct topology *topology;
    struct fleet_site *sites; /* by id */
    size_t n_sites;
    struct fleet_gateway *gateways; /* by id; revoked ones are left out */
    size_t n_gateways;
    struct fleet_connection *connections; /* by id */
    size_t n_connections;
    struct topo_domain *domains; /* by number; those in use */
    size_t n_domains;
    struct fleet_join *joins; /* by (a, b) */
    size_t n_joins;
};

int fleet_init(struct fleet *f, const struct topology *t, struct err *e);
void fleet_done(struct fleet *f);

/* NULL when the two sites have no connection. */
struct fleet_edge *fleet_edge(const struct fleet *f, size_t from, size_t to);
/* True when the two sites were joined at some time, whether they are now or not. */
bool fleet_once_joined(const struct fleet *f, size_t x, size_t y);
bool fleet_is_transit(const struct fleet *f, size_t site);

#endif
