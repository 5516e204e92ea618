/*
 * The rules of DESIGN section 8, "No loops, by class", between sites: where a packet may go next
 * and where it may have come from. Which gateways and links carry it is fib.h's.
 *
 * A path is spoke – transit – spoke or spoke – transit – transit – spoke, with either end cut off.
 * So a packet that came by a peering goes only to an attached site or stays, and nothing ever
 * passes through a spoke or three transits.
 */
#ifndef HAWSER_CONTROLLER_PLANNER_ROUTING_H
#define HAWSER_CONTROLLER_PLANNER_ROUTING_H

#include "common/dp_proto.h"
#include "controller/planner/fleet.h"

enum routing_edges {
    ROUTING_USABLE,     /* edges with a link that may carry traffic now */
    ROUTING_CONFIGURED, /* every connection, the disabled and the pending ones too */
};

/*
 * Neighbours of site `at` by which a packet that came in by class `ingress` goes to site `to`:
 * those on a shortest path. Fills `out`, which has room for all edges of `at`, and returns their
 * number; 0 when the class leads nowhere.
 */
size_t routing_next(const struct fleet *f, size_t at, size_t to, enum dp_class ingress,
                    enum routing_edges edges, size_t *out);

/* Neighbours of `at` by which packets from site `from` may come in by any path that the rules
 * allow, not only a shortest: the sources that are legal on a link (RFC 4301 section 5.2). */
size_t routing_arrivals(const struct fleet *f, size_t at, size_t from, size_t *out);

#endif
