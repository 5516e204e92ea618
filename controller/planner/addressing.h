/* Which addresses a link uses: one pair, planned (DESIGN section 5, "Address pair"). */
#ifndef HAWSER_CONTROLLER_PLANNER_ADDRESSING_H
#define HAWSER_CONTROLLER_PLANNER_ADDRESSING_H

#include "controller/planner/topology.h"

struct address_end {
    struct ipaddr address; /* what the other end sends to */
    struct ipaddr source;  /* what this machine sends from: differs behind a 1:1 translation */
    bool reachable;        /* the other end can open connections to `address` */
};

struct address_pair {
    struct address_end a, b;
};

/*
 * First family that both have and `path` allows, IPv4 first unless `family` is 4 or 6; within a
 * family private with private, then public with public, then (auto) any mix. A pair of which
 * neither end is reachable is passed over. HW_ECONFLICT with the reason for people when nothing is
 * left.
 */
int addressing_pair(const struct topo_gateway *a, const struct topo_gateway *b, enum topo_path path,
                    unsigned family, struct address_pair *out, struct err *e);

#endif
