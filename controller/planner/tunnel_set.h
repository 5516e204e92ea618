/* How many tunnels a link has and on which of the fifty ports they stand. */
#ifndef HAWSER_CONTROLLER_PLANNER_TUNNEL_SET_H
#define HAWSER_CONTROLLER_PLANNER_TUNNEL_SET_H

#include "common/limits.h"
#include <stdint.h>

/* Tunnels on each port index of one gateway. */
struct port_load {
    uint32_t tunnels[HW_PORTS_PER_GATEWAY];
};

/*
 * An operator's number (the link's before the connection's) stands as it is. Otherwise the default,
 * but no fewer than either end has workers, so that every worker owns a tunnel and the hand-off
 * ring stays the exception.
 */
unsigned tunnel_set_count(unsigned link_override, unsigned connection_tunnels, unsigned workers_a,
                          unsigned workers_b);

/* The offset at which `tunnels` consecutive ports carry least at both ends; the lowest of equals.
 */
unsigned tunnel_set_offset(const struct port_load *a, const struct port_load *b, unsigned tunnels);
void tunnel_set_occupy(struct port_load *load, unsigned offset, unsigned tunnels);

#endif
