#include "controller/planner/joins.h"
#include "controller/planner/routing.h"
#include <stdlib.h>

bool joins_lead(const struct fleet *f, size_t from, size_t to, size_t *scratch)
{
    return f->sites[from].domain == f->sites[to].domain &&
           routing_next(f, from, to, DP_CLASS_SITE, ROUTING_CONFIGURED, scratch) > 0;
}

static bool has_enrolled(const struct fleet *f, size_t site)
{
    for (size_t i = 0; i < f->sites[site].n_gateways; i++)
        if (f->gateways[f->sites[site].gateways[i]].gateway->state == TOPO_GATEWAY_ENROLLED)
            return true;
    return false;
}

struct finder {
    const struct fleet *fleet;
    size_t *scratch;
    struct topo_join *list;
    size_t n, cap;
};

static int add(struct finder *j, size_t a, size_t b, bool joined, struct err *e)
{
    if (j->n == j->cap) {
        size_t cap = j->cap ? j->cap * 2 : 64;
        struct topo_join *grown = realloc(j->list, cap * sizeof *grown);
        if (!grown)
            return err_set(e, HW_ENOMEM, "out of memory");
        j->list = grown;
        j->cap = cap;
    }
    j->list[j->n++] = (struct topo_join){.site_a = j->fleet->sites[a].site->id,
                                         .site_b = j->fleet->sites[b].site->id,
                                         .joined = joined};
    return 0;
}

/* Before a gateway has a config with the way in it nothing goes through tunnels that could later
 * leave in plain. */
static int look_at(struct finder *j, size_t a, size_t b, struct err *e)
{
    const struct fleet *f = j->fleet;
    bool joined = joins_lead(f, a, b, j->scratch) || joins_lead(f, b, a, j->scratch);
    if (fleet_once_joined(f, a, b) || (joined && (has_enrolled(f, a) || has_enrolled(f, b))))
        return add(j, a, b, joined, e);
    return 0;
}

int joins_find(const struct fleet *f, struct topo_join **out, size_t *n, struct err *e)
{
    struct finder j = {.fleet = f, .scratch = calloc(f->n_sites + 1, sizeof *j.scratch)};
    int rc = j.scratch ? 0 : err_set(e, HW_ENOMEM, "out of memory");
    for (size_t a = 0; !rc && a < f->n_sites; a++)
        for (size_t b = a + 1; !rc && b < f->n_sites; b++)
            rc = look_at(&j, a, b, e);
    free(j.scratch);
    if (rc) {
        free(j.list);
        return rc;
    }
    *out = j.list;
    *n = j.n;
    return 0;
}
