#include "controller/planner/tunnel_set.h"
#include "controller/planner/topology.h"
#include <stdio.h>
#include <string.h>

#define TUNNELS_PER_VCPU 2

unsigned tunnel_set_of_vcpus(unsigned vcpus_a, unsigned vcpus_b)
{
    unsigned least = vcpus_a < vcpus_b ? vcpus_a : vcpus_b;
    if (least > HW_TUNNELS_PER_LINK_MAX / TUNNELS_PER_VCPU)
        return HW_TUNNELS_PER_LINK_MAX;
    return TUNNELS_PER_VCPU * least;
}

/* The number before any limit, from sizes or the default. */
static unsigned base_count(const struct tunnel_end *a, const struct tunnel_end *b,
                           char reason[TUNNEL_REASON_MAX])
{
    const struct tunnel_end *least = b->vcpus < a->vcpus ? b : a;
    if (least->vcpus) {
        (void)snprintf(reason, TUNNEL_REASON_MAX, "%d x %u vCPU%s of %s", TUNNELS_PER_VCPU,
                       least->vcpus, least->vcpus == 1 ? "" : "s", least->size);
        return TUNNELS_PER_VCPU * least->vcpus;
    }
    (void)snprintf(reason, TUNNEL_REASON_MAX, "default %u: size of %s is not known",
                   TOPOLOGY_TUNNELS_DEFAULT, least->name);
    return TOPOLOGY_TUNNELS_DEFAULT;
}

unsigned tunnel_set_count(unsigned link_override, unsigned connection_tunnels,
                          const struct tunnel_end *a, const struct tunnel_end *b,
                          char reason[TUNNEL_REASON_MAX])
{
    if (link_override || connection_tunnels) {
        (void)snprintf(reason, TUNNEL_REASON_MAX, "set on the %s",
                       link_override ? "link" : "connection");
        return link_override ? link_override : connection_tunnels;
    }
    const struct tunnel_end *most = b->workers > a->workers ? b : a;
    unsigned n = base_count(a, b, reason);
    size_t len = strlen(reason);
    if (most->workers > n) {
        n = most->workers;
        len = (size_t)snprintf(reason, TUNNEL_REASON_MAX, "%u workers of %s", n, most->name);
    }
    if (n <= HW_TUNNELS_PER_LINK_MAX)
        return n;
    (void)snprintf(reason + len, TUNNEL_REASON_MAX - len, ", at most %d", HW_TUNNELS_PER_LINK_MAX);
    return HW_TUNNELS_PER_LINK_MAX;
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
