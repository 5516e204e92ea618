#include "controller/planner/buckets.h"
#include "controller/planner/fib_builder.h"
#include <stdlib.h>

struct fib_table {
    size_t gateways[HW_FIB_SET_MEMBERS_MAX]; /* in order of the members */
    size_t n;
    uint8_t bucket[HW_BUCKETS];
};

struct fib_cache {
    struct fib_table **tables;
    size_t n;
};

struct fib_cache *fib_cache_new(void)
{
    return calloc(1, sizeof(struct fib_cache));
}

void fib_cache_free(struct fib_cache *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        free(c->tables[i]);
    free(c->tables);
    free(c);
}

static const uint8_t *cached_table(struct fib_builder *b, const struct fib_link *const *members,
                                   size_t n, struct err *e)
{
    struct fib_cache *c = b->cache;
    for (size_t i = 0; i < c->n; i++) {
        bool same = c->tables[i]->n == n;
        for (size_t k = 0; same && k < n; k++)
            same = c->tables[i]->gateways[k] == members[k]->peer;
        if (same)
            return c->tables[i]->bucket;
    }
    struct fib_table **grown = realloc(c->tables, (c->n + 1) * sizeof(struct fib_table *));
    if (grown)
        c->tables = grown;
    struct fib_table *t = grown ? calloc(1, sizeof *t) : NULL;
    if (!t) {
        (void)err_set(e, HW_ENOMEM, "out of memory");
        return NULL;
    }
    struct bucket_member draw[HW_FIB_SET_MEMBERS_MAX];
    t->n = n;
    for (size_t k = 0; k < n; k++) {
        const struct topo_gateway *g = b->fleet->gateways[members[k]->peer].gateway;
        t->gateways[k] = members[k]->peer;
        draw[k] = (struct bucket_member){
            .gateway = g->id, .link = members[k]->link->plan.id, .weight = g->weight};
    }
    buckets_fill(draw, n, t->bucket);
    c->tables[c->n++] = t;
    return t->bucket;
}

static bool same_members(const struct config_set *s, const struct fib_link *const *members,
                         size_t n)
{
    bool same = s->n_members == n;
    for (size_t k = 0; same && k < n; k++)
        same = s->members[k].link == members[k]->index;
    return same;
}

int fib_sets_find(struct fib_builder *b, const struct fib_link *const *members, size_t n,
                  uint32_t *out, struct err *e)
{
    struct gateway_config *c = b->config;
    for (size_t i = 0; i < c->n_sets; i++) {
        if (same_members(&c->sets[i], members, n)) {
            *out = (uint32_t)i;
            return 0;
        }
    }
    int rc = fib_grow(&c->sets, &b->cap_sets, c->n_sets, sizeof *c->sets, HW_FIB_SETS_MAX,
                      "next-hop sets", e);
    if (rc)
        return rc;
    const uint8_t *table = cached_table(b, members, n, e);
    struct config_member *list = table ? calloc(n, sizeof *list) : NULL;
    if (!list)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t k = 0; k < n; k++)
        list[k] =
            (struct config_member){.link = members[k]->index,
                                   .weight = b->fleet->gateways[members[k]->peer].gateway->weight};
    struct config_set *s = &c->sets[c->n_sets];
    s->members = list;
    s->n_members = n;
    memcpy(s->bucket, table, sizeof s->bucket);
    *out = (uint32_t)c->n_sets++;
    return 0;
}

struct set_order {
    const struct config_set *set;
    uint32_t was;
};

static int by_members(const void *a, const void *b)
{
    const struct config_set *x = ((const struct set_order *)a)->set,
                            *y = ((const struct set_order *)b)->set;
    for (size_t i = 0; i < x->n_members && i < y->n_members; i++)
        if (x->members[i].link != y->members[i].link)
            return x->members[i].link < y->members[i].link ? -1 : 1;
    return (x->n_members > y->n_members) - (x->n_members < y->n_members);
}

int fib_sets_order(struct gateway_config *c, struct err *e)
{
    struct set_order *order = calloc(c->n_sets + 1, sizeof *order);
    struct config_set *sets = calloc(c->n_sets + 1, sizeof *sets);
    uint32_t *now = calloc(c->n_sets + 1, sizeof *now);
    if (!order || !sets || !now) {
        free(order);
        free(sets);
        free(now);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < c->n_sets; i++)
        order[i] = (struct set_order){.set = &c->sets[i], .was = (uint32_t)i};
    qsort(order, c->n_sets, sizeof *order, by_members);
    for (size_t i = 0; i < c->n_sets; i++) {
        sets[i] = *order[i].set;
        now[order[i].was] = (uint32_t)i;
    }
    for (size_t i = 0; i < c->n_routes; i++)
        if (c->routes[i].target == ROUTE_SET)
            c->routes[i].set = now[c->routes[i].set];
    free(c->sets);
    c->sets = sets;
    free(order);
    free(now);
    return 0;
}
