#include "controller/planner/addressing.h"

enum want { WANT_PRIVATE, WANT_PUBLIC, WANT_ANY };

static bool fits(const struct topo_endpoint *p, unsigned family, enum want want)
{
    if (p->address.family != family)
        return false;
    if (want == WANT_ANY)
        return true;
    return p->scope == (want == WANT_PUBLIC ? TOPO_PUBLIC : TOPO_PRIVATE);
}

/* The gateway's endpoint of that family and scope: a reachable one before others, then in the order
 * given. */
static const struct topo_endpoint *pick(const struct topo_gateway *g, unsigned family,
                                        enum want want)
{
    const struct topo_endpoint *found = NULL;
    for (size_t i = 0; i < g->n_endpoints; i++) {
        const struct topo_endpoint *p = &g->endpoints[i];
        if (fits(p, family, want) && (!found || (p->reachable && !found->reachable)))
            found = p;
    }
    return found;
}

/* An address that a cloud translates stands on no interface, so packets leave from one that does.
 */
static struct ipaddr source_for(const struct topo_gateway *g, const struct topo_endpoint *p)
{
    if (p->on_host)
        return p->address;
    for (size_t i = 0; i < g->n_endpoints; i++)
        if (g->endpoints[i].on_host && g->endpoints[i].address.family == p->address.family)
            return g->endpoints[i].address;
    const struct ipaddr *own = p->address.family == 4 ? &g->own4 : &g->own6;
    return own->family ? *own : p->address;
}

static struct address_end end_of(const struct topo_gateway *g, const struct topo_endpoint *p)
{
    return (struct address_end){
        .address = p->address, .source = source_for(g, p), .reachable = p->reachable};
}

/* Pairs of wants to try, in order, for each path. Under `public` a gateway without a public address
 * still reaches a public one through whatever translates for it. */
static const struct {
    size_t n;
    struct {
        enum want a, b;
    } pair[4];
} wants[] = {
    [TOPO_PATH_AUTO] = {4,
                        {{WANT_PRIVATE, WANT_PRIVATE},
                         {WANT_PUBLIC, WANT_PUBLIC},
                         {WANT_PRIVATE, WANT_PUBLIC},
                         {WANT_PUBLIC, WANT_PRIVATE}}},
    [TOPO_PATH_PRIVATE] = {1, {{WANT_PRIVATE, WANT_PRIVATE}}},
    [TOPO_PATH_PUBLIC] =
        {3, {{WANT_PUBLIC, WANT_PUBLIC}, {WANT_ANY, WANT_PUBLIC}, {WANT_PUBLIC, WANT_ANY}}},
};

int addressing_pair(const struct topo_gateway *a, const struct topo_gateway *b, enum topo_path path,
                    unsigned family, struct address_pair *out, struct err *e)
{
    const unsigned families[2] = {family ? family : 4, 6};
    bool found = false;
    for (size_t f = 0; f < (family ? 1 : 2); f++) {
        for (size_t w = 0; w < wants[path].n; w++) {
            const struct topo_endpoint *pa = pick(a, families[f], wants[path].pair[w].a);
            const struct topo_endpoint *pb = pick(b, families[f], wants[path].pair[w].b);
            if (!pa || !pb)
                continue;
            found = true;
            if (!pa->reachable && !pb->reachable)
                continue;
            *out = (struct address_pair){.a = end_of(a, pa), .b = end_of(b, pb)};
            return 0;
        }
    }
    static const char *const path_words[] = {"", "private ", "public "};
    if (found)
        return err_set_field(
            e, HW_ECONFLICT, "endpoints",
            "neither %s nor %s can be reached from the other: no endpoint of either is reachable",
            a->name, b->name);
    if (family)
        return err_set_field(e, HW_ECONFLICT, "underlay_family",
                             "%s and %s have no %sIPv%u endpoints in common", a->name, b->name,
                             path_words[path], family);
    return err_set_field(e, HW_ECONFLICT, "endpoints",
                         "%s and %s have no %sendpoints of one address family", a->name, b->name,
                         path_words[path]);
}
