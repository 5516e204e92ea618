/* How many tunnels a link has and on which of the fifty ports they stand. */
#ifndef HAWSER_CONTROLLER_PLANNER_TUNNEL_SET_H
#define HAWSER_CONTROLLER_PLANNER_TUNNEL_SET_H

#include "common/limits.h"
#include <stdint.h>

/* Tunnels on each port index of one gateway. */
struct port_load {
    uint32_t tunnels[HW_PORTS_PER_GATEWAY];
};

#define TUNNEL_REASON_MAX 200

/* What the number depends on at one end. */
struct tunnel_end {
    const char *name; /* of the gateway */
    const char *size; /* instance size */
    unsigned vcpus;   /* of that size; 0: not known */
    unsigned workers; /* of the dataplane; 0: not known */
};

/*
 * An operator's number (the link's before the connection's) stands as it is. Otherwise two for each
 * vCPU of the smaller end, so that an uneven hash leaves no core idle, or the default where a size
 * is not known; but no fewer than either end has workers, so that every worker owns a tunnel and
 * the hand-off ring stays the exception. `reason`: which of these it was.
 */
unsigned tunnel_set_count(unsigned link_override, unsigned connection_tunnels,
                          const struct tunnel_end *a, const struct tunnel_end *b,
                          char reason[TUNNEL_REASON_MAX]);
/* What the sizes alone make of it; 0 when one isn't known. */
unsigned tunnel_set_of_vcpus(unsigned vcpus_a, unsigned vcpus_b);

/* The offset at which `tunnels` consecutive ports carry least at both ends; the lowest of equals.
 */
unsigned tunnel_set_offset(const struct port_load *a, const struct port_load *b, unsigned tunnels);
void tunnel_set_occupy(struct port_load *load, unsigned offset, unsigned tunnels);

#endif
