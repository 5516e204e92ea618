/*
 * The links of the fleet: which pairs of gateways, with which ids, addresses, tunnels and ports. A
 * link that exists keeps its id and its port offset for life.
 */
#ifndef HAWSER_CONTROLLER_PLANNER_MESH_H
#define HAWSER_CONTROLLER_PLANNER_MESH_H

#include "controller/planner/addressing.h"
#include "controller/planner/fleet.h"
#include "controller/planner/planner.h"

struct mesh_link {
    struct planned_link plan;
    const struct topo_connection *connection; /* NULL: bypass */
    size_t gateway_a, gateway_b;              /* into fleet.gateways */
    struct address_pair pair;                 /* when READY */
    uint32_t interval_ms;                     /* of liveness probes, within the gateways' caps */
};

struct mesh {
    struct mesh_link *links; /* by id */
    size_t n_links;
    size_t **of_gateway; /* for each gateway: indexes of its READY links */
    size_t *n_of_gateway;
    size_t n_gateways;
};

/* Also marks the fleet's edges that a link makes usable. */
int mesh_init(struct mesh *m, struct fleet *f, struct err *e);
void mesh_done(struct mesh *m);

/* READY and enabled: may carry traffic. */
bool mesh_usable(const struct mesh_link *l);
/* The other end, into fleet.gateways. */
size_t mesh_peer(const struct mesh_link *l, size_t gateway);

#endif
