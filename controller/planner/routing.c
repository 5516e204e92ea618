#include "controller/planner/routing.h"

static bool joined(const struct fleet *f, size_t a, size_t b, enum routing_edges edges)
{
    const struct fleet_edge *e = fleet_edge(f, a, b);
    return e && (e->usable || edges == ROUTING_CONFIGURED);
}

/* True when transit `via`, taken from a spoke or from its own site, delivers to `to` in one more
 * hop. */
static bool one_hop(const struct fleet *f, size_t via, size_t to, enum routing_edges edges)
{
    return fleet_is_transit(f, via) && joined(f, via, to, edges);
}

/* True when transit `via` delivers to the spoke `to` through a second transit. */
static bool two_hops(const struct fleet *f, size_t via, size_t to, enum routing_edges edges)
{
    if (!fleet_is_transit(f, via) || fleet_is_transit(f, to))
        return false;
    const struct fleet_site *v = &f->sites[via];
    for (size_t i = 0; i < v->n_edges; i++) {
        size_t second = v->edges[i].site;
        if (v->edges[i].kind == LINK_PEERING && joined(f, via, second, edges) &&
            joined(f, second, to, edges))
            return true;
    }
    return false;
}

/* From a spoke's gateway: to a transit that has the destination, else to one whose peer has it. */
static size_t next_of_spoke(const struct fleet *f, size_t at, size_t to, enum routing_edges edges,
                            size_t *out)
{
    const struct fleet_site *s = &f->sites[at];
    size_t n = 0;
    for (size_t i = 0; i < s->n_edges; i++)
        if (joined(f, at, s->edges[i].site, edges) && one_hop(f, s->edges[i].site, to, edges))
            out[n++] = s->edges[i].site;
    if (n)
        return n;
    for (size_t i = 0; i < s->n_edges; i++)
        if (joined(f, at, s->edges[i].site, edges) && two_hops(f, s->edges[i].site, to, edges))
            out[n++] = s->edges[i].site;
    return n;
}

size_t routing_next(const struct fleet *f, size_t at, size_t to, enum dp_class ingress,
                    enum routing_edges edges, size_t *out)
{
    const struct fleet_site *s = &f->sites[at];
    bool transit = fleet_is_transit(f, at);
    if (!transit && ingress != DP_CLASS_SITE && ingress != DP_CLASS_BYPASS)
        return 0;
    if (joined(f, at, to, edges)) {
        /* What came by a peering, or was handed over by a neighbour, does not cross a peering
         * (again). */
        if (transit && fleet_is_transit(f, to) &&
            (ingress == DP_CLASS_PEERING || ingress == DP_CLASS_BYPASS))
            return 0;
        out[0] = to;
        return 1;
    }
    if (!transit)
        return next_of_spoke(f, at, to, edges, out);
    if (ingress == DP_CLASS_PEERING || ingress == DP_CLASS_BYPASS || fleet_is_transit(f, to))
        return 0;
    size_t n = 0;
    for (size_t i = 0; i < s->n_edges; i++)
        if (s->edges[i].kind == LINK_PEERING && joined(f, at, s->edges[i].site, edges) &&
            one_hop(f, s->edges[i].site, to, edges))
            out[n++] = s->edges[i].site;
    return n;
}

size_t routing_arrivals(const struct fleet *f, size_t at, size_t from, size_t *out)
{
    const struct fleet_site *s = &f->sites[at];
    bool transit = fleet_is_transit(f, at);
    size_t n = 0;
    for (size_t i = 0; i < s->n_edges; i++) {
        size_t via = s->edges[i].site;
        if (!joined(f, at, via, ROUTING_USABLE))
            continue;
        bool legal = via == from;
        if (!legal && fleet_is_transit(f, via)) {
            /* To a spoke: what the transit has, and what its peers' spokes send. To a transit: what
             * its peer has attached. */
            legal =
                joined(f, via, from, ROUTING_USABLE) && (!transit || !fleet_is_transit(f, from));
            if (!legal && !transit)
                legal = two_hops(f, via, from, ROUTING_USABLE);
        }
        if (legal)
            out[n++] = via;
    }
    return n;
}
