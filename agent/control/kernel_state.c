#include "agent/control/kernel_state.h"
#include "agent/control/netlink/addr.h"
#include "agent/control/netlink/link.h"
#include <stdlib.h>
#include <string.h>

#define READ_TRIES 4

/* A growing array. */
static void *append(void **list, size_t *n, size_t size, struct err *e)
{
    /* Doubles at each power of two; the count alone tells the capacity. */
    if ((*n & (*n - 1)) == 0) {
        void *grown = realloc(*list, (*n ? *n * 2 : 1) * size);
        if (!grown) {
            (void)err_set(e, HW_ENOMEM, "out of memory");
            return NULL;
        }
        *list = grown;
    }
    return (char *)*list + (*n)++ * size;
}

static int take_address(const struct nl_addr *a, void *arg, struct err *e)
{
    struct gateway_state *s = arg;
    if (a->ifindex != s->tun_index || a->by_kernel)
        return 0;
    struct prefix *p = append((void **)&s->addresses, &s->n_addresses, sizeof *s->addresses, e);
    if (!p)
        return HW_ENOMEM;
    *p = (struct prefix){.addr = a->addr, .len = a->len};
    return 0;
}

static int take_rule(const struct nl_rule *r, void *arg, struct err *e)
{
    struct gateway_state *s = arg;
    if (r->foreign)
        return 0;
    struct nl_rule *to = append((void **)&s->rules, &s->n_rules, sizeof *s->rules, e);
    if (!to)
        return HW_ENOMEM;
    *to = *r;
    return 0;
}

/* One entry a kernel route; merge_routes() joins the pairs. */
static int take_route(const struct nl_route *r, void *arg, struct err *e)
{
    struct gateway_state *s = arg;
    struct state_route route = {.prefix = r->prefix, .mtu = r->mtu};
    route.backing = r->unreachable && r->metric == NL_ROUTE_METRIC_UNREACHABLE;
    route.tun = !r->unreachable && !r->gateway && r->metric == NL_ROUTE_METRIC_TUN &&
                s->tun_exists && r->ifindex == s->tun_index;
    if (!route.tun && !route.backing)
        return 0;
    struct state_route *to = append((void **)&s->routes, &s->n_routes, sizeof *s->routes, e);
    if (!to)
        return HW_ENOMEM;
    *to = route;
    return 0;
}

static void merge_routes(struct gateway_state *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n_routes; i++) {
        struct state_route r = s->routes[i];
        if (kept > 0 && prefix_equal(&s->routes[kept - 1].prefix, &r.prefix)) {
            struct state_route *k = &s->routes[kept - 1];
            k->mtu = r.tun ? r.mtu : k->mtu;
            k->tun |= r.tun;
            k->backing |= r.backing;
        } else {
            s->routes[kept++] = r;
        }
    }
    s->n_routes = kept;
}

static int prefix_order(const void *a, const void *b)
{
    return prefix_cmp(a, b);
}

static void forget(struct gateway_state *s)
{
    free(s->addresses);
    free(s->rules);
    free(s->routes);
    s->addresses = NULL;
    s->rules = NULL;
    s->routes = NULL;
    s->n_addresses = s->n_rules = s->n_routes = 0;
    s->tun_exists = s->tun_up = false;
    s->tun_index = 0;
    s->tun_mtu = 0;
}

static int read_once(struct nl *n, struct gateway_state *s, struct err *e)
{
    struct nl_link l;
    int rc = nl_link_get(n, HW_TUN_NAME, &l, e);
    if (rc < 0 && rc != HW_ENOTFOUND)
        return rc;
    if (rc == 0) {
        s->tun_exists = true;
        s->tun_index = l.index;
        s->tun_up = l.up;
        s->tun_mtu = l.mtu;
        rc = nl_addr_each(n, take_address, s, e);
        if (rc < 0)
            return rc;
    }
    rc = nl_rule_each(n, take_rule, s, e);
    if (rc < 0)
        return rc;
    return nl_route_each(n, HW_TABLE, take_route, s, e);
}

int kernel_state_read(struct nl *n, struct gateway_state *s, struct err *e)
{
    int rc = HW_EAGAIN;
    for (int i = 0; i < READ_TRIES && rc == HW_EAGAIN; i++) {
        forget(s);
        rc = read_once(n, s, e);
    }
    if (rc < 0) {
        forget(s);
        return rc;
    }
    if (s->n_addresses)
        qsort(s->addresses, s->n_addresses, sizeof *s->addresses, prefix_order);
    if (s->n_rules)
        qsort(s->rules, s->n_rules, sizeof *s->rules, state_rule_cmp);
    if (s->n_routes)
        qsort(s->routes, s->n_routes, sizeof *s->routes, state_route_cmp);
    merge_routes(s);
    return 0;
}
