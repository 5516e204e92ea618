/*
 * Which sites are joined, and which have been: a gateway's kernel never routes to a site that its
 * own was once joined with except through the tunnels, so that the end of a connection does not
 * turn encrypted traffic into plain (docs/architecture.md, "Outside of the tunnels").
 */
#ifndef HAWSER_CONTROLLER_PLANNER_JOINS_H
#define HAWSER_CONTROLLER_PLANNER_JOINS_H

#include "controller/planner/fleet.h"

/* True when connections, disabled and pending ones too, lead hosts of `from` to site `to`.
 * `scratch` has room for all edges of `from`. */
bool joins_lead(const struct fleet *f, size_t from, size_t to, size_t *scratch);

/* The topology's pairs, each with whether it is joined now, and the pairs that are new: joined, and
 * with a gateway that learns of it. By (site_a, site_b); free() the array. */
int joins_find(const struct fleet *f, struct topo_join **out, size_t *n, struct err *e);

#endif
