#include "controller/planner/tunnel_set.h"
#include "controller/planner/topology.h"

unsigned tunnel_set_count(unsigned link_override, unsigned connection_tunnels, unsigned workers_a,
                          unsigned workers_b)
{
    if (link_override)
        return link_override;
    if (connection_tunnels)
        return connection_tunnels;
    unsigned n = TOPOLOGY_TUNNELS_DEFAULT;
    if (workers_a > n)
        n = workers_a;
    if (workers_b > n)
        n = workers_b;
    return n > HW_TUNNELS_PER_LINK_MAX ? HW_TUNNELS_PER_LINK_MAX : n;
}

unsigned tunnel_set_offset(const struct port_load *a, const struct port_load *b, unsigned tunnels)
{
    unsigned best = 0;
    uint64_t best_load = UINT64_MAX;
    for (unsigned o = 0; o < HW_PORTS_PER_GATEWAY; o++) {
        uint64_t load = 0;
        for (unsigned i = 0; i < tunnels; i++) {
            unsigned port = (o + i) % HW_PORTS_PER_GATEWAY;
            load += (uint64_t)a->tunnels[port] + b->tunnels[port];
        }
        if (load < best_load) {
            best_load = load;
            best = o;
        }
    }
    return best;
}

void tunnel_set_occupy(struct port_load *load, unsigned offset, unsigned tunnels)
{
    for (unsigned i = 0; i < tunnels; i++)
        load->tunnels[(offset + i) % HW_PORTS_PER_GATEWAY]++;
}
