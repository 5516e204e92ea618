/* Sources, routes and next-hop sets of one gateway, by (domain, ingress class, prefix). */
#ifndef HAWSER_CONTROLLER_PLANNER_FIB_H
#define HAWSER_CONTROLLER_PLANNER_FIB_H

#include "controller/planner/mesh.h"

/* Tables of buckets already drawn: the same members have the same table at every gateway. */
struct fib_cache;
struct fib_cache *fib_cache_new(void);
void fib_cache_free(struct fib_cache *c);

/* Fills c->sources, routes and sets. c->links holds the gateway's READY links in the order of
 * mesh.of_gateway. */
int fib_build(const struct fleet *f, const struct mesh *m, size_t gateway, struct fib_cache *cache,
              struct gateway_config *c, struct err *e);

#endif
