/* The config of one gateway out of fleet and mesh: itself, its peers, its links; fib.h does the
 * rest. */
#ifndef HAWSER_CONTROLLER_PLANNER_CONFIG_H
#define HAWSER_CONTROLLER_PLANNER_CONFIG_H

#include "controller/planner/fib.h"

/* On failure *out is empty. */
int config_build(const struct fleet *f, const struct mesh *m, size_t gateway,
                 struct fib_cache *cache, struct gateway_config *out, struct err *e);

#endif
