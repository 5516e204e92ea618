#include "agent/control/config_plan.h"
#include "agent/control/fib_image.h"
#include <stdlib.h>
#include <string.h>

struct builder {
    struct config_plan plan;
    size_t cap;
    bool failed;
};

static void add(struct builder *b, enum plan_step_kind kind, size_t index)
{
    if (b->plan.n_steps == b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 64;
        struct plan_step *steps = realloc(b->plan.steps, cap * sizeof *steps);
        if (!steps) {
            b->failed = true;
            return;
        }
        b->plan.steps = steps;
        b->cap = cap;
    }
    b->plan.steps[b->plan.n_steps++] = (struct plan_step){kind, index};
}

static int prefix_order(const void *a, const void *b)
{
    return prefix_cmp(a, b);
}

/* One sorted list against another: `gone` for those only in `found`, `fresh` for those only in
 * `want`. */
static void diff(struct builder *b, const void *found, size_t n_found, const void *want,
                 size_t n_want, size_t size, int (*cmp)(const void *, const void *), int fresh,
                 int gone)
{
    const char *f = found, *w = want;
    size_t i = 0, k = 0;
    while (i < n_found || k < n_want) {
        int c = i == n_found ? 1 : k == n_want ? -1 : cmp(f + i * size, w + k * size);
        if (c < 0 && gone)
            add(b, (enum plan_step_kind)gone, i);
        if (c > 0 && fresh)
            add(b, (enum plan_step_kind)fresh, k);
        i += c <= 0;
        k += c >= 0;
    }
}

static void diff_tun(struct builder *b, const struct gateway_state *found,
                     const struct gateway_state *want)
{
    if (!want->tun_exists)
        return;
    if (!found->tun_exists)
        add(b, PLAN_TUN_CREATE, 0);
    if (!found->tun_exists || found->tun_mtu != want->tun_mtu || !found->tun_up)
        add(b, PLAN_TUN_SET, 0);
}

static const struct state_route *route_of(const struct gateway_state *s, const struct prefix *p)
{
    struct state_route key = {.prefix = *p};
    return s->n_routes ? bsearch(&key, s->routes, s->n_routes, sizeof key, state_route_cmp) : NULL;
}

/* Adds and changes. Every backing route goes before any TUN route. */
static void diff_routes_wanted(struct builder *b, const struct gateway_state *found,
                               const struct gateway_state *want)
{
    for (size_t i = 0; i < want->n_routes; i++) {
        const struct state_route *f = route_of(found, &want->routes[i].prefix);
        if (!f || !f->backing)
            add(b, PLAN_BACKING_ADD, i);
    }
    for (size_t i = 0; i < want->n_routes; i++) {
        const struct state_route *f = route_of(found, &want->routes[i].prefix);
        if (want->routes[i].tun && (!f || !f->tun || f->mtu != want->routes[i].mtu))
            add(b, PLAN_ROUTE_SET, i);
    }
}

static void diff_routes_gone(struct builder *b, const struct gateway_state *found,
                             const struct gateway_state *want)
{
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < found->n_routes; i++) {
            const struct state_route *f = &found->routes[i];
            const struct state_route *w = route_of(want, &f->prefix);
            if (pass == 0 && f->tun && !(w && w->tun))
                add(b, PLAN_ROUTE_REMOVE, i);
            if (pass == 1 && f->backing && !w)
                add(b, PLAN_BACKING_REMOVE, i);
        }
}

static void diff_udp(struct builder *b, const struct gateway_state *found,
                     const struct gateway_state *want)
{
    for (size_t i = 0; i < HW_PORTS_PER_GATEWAY; i++) {
        if (want->udp.v4[i] && want->udp.v4[i] != found->udp.v4[i])
            add(b, PLAN_UDP_ATTACH, i);
        if (want->udp.v6[i] && want->udp.v6[i] != found->udp.v6[i])
            add(b, PLAN_UDP_ATTACH, HW_PORTS_PER_GATEWAY + i);
    }
}

static void diff_links_wanted(struct builder *b, const struct gateway_state *found,
                              const struct gateway_state *want)
{
    for (size_t i = 0; i < want->n_links; i++) {
        const struct dp_link_set *w = &want->links[i];
        const struct dp_link_set *f =
            found->n_links ? bsearch(w, found->links, found->n_links, sizeof *w, state_link_cmp)
                           : NULL;
        if (!f || memcmp(f, w, sizeof *w) != 0)
            add(b, PLAN_LINK_SET, i);
    }
}

/* When only the generation of the dataplane's table is known (after a restart of the agent), it
 * decides, unless limits that were heard from peers have made more of the config. */
static bool fib_differs(const struct gateway_state *found, const struct gateway_state *want)
{
    if (!want->fib)
        return false;
    if (!found->fib)
        return found->fib_generation != want->fib_generation || want->fib_limited;
    return !fib_image_same(found->fib, found->fib_len, want->fib, want->fib_len);
}

int config_plan_make(const struct gateway_state *found, const struct gateway_state *want,
                     struct config_plan *out, struct err *e)
{
    struct builder b = {0};
    diff_tun(&b, found, want);
    diff(&b, found->addresses, found->n_addresses, want->addresses, want->n_addresses,
         sizeof *want->addresses, prefix_order, PLAN_ADDRESS_ADD, 0);
    /* The own answers' rules come before the table rule: rules are sorted by priority. */
    diff_routes_wanted(&b, found, want);
    diff(&b, found->rules, found->n_rules, want->rules, want->n_rules, sizeof *want->rules,
         state_rule_cmp, PLAN_RULE_ADD, 0);
    diff_udp(&b, found, want);
    if (want->has_node &&
        (!found->has_node || memcmp(&found->node, &want->node, sizeof want->node) != 0))
        add(&b, PLAN_NODE_SET, 0);
    diff_links_wanted(&b, found, want);
    if (fib_differs(found, want))
        add(&b, PLAN_FIB_COMMIT, 0);
    diff(&b, found->links, found->n_links, want->links, want->n_links, sizeof *want->links,
         state_link_cmp, 0, PLAN_LINK_REMOVE);
    diff_routes_gone(&b, found, want);
    diff(&b, found->rules, found->n_rules, want->rules, want->n_rules, sizeof *want->rules,
         state_rule_cmp, 0, PLAN_RULE_REMOVE);
    diff(&b, found->addresses, found->n_addresses, want->addresses, want->n_addresses,
         sizeof *want->addresses, prefix_order, 0, PLAN_ADDRESS_REMOVE);
    if (b.failed) {
        free(b.plan.steps);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    *out = b.plan;
    return 0;
}

void config_plan_done(struct config_plan *p)
{
    free(p->steps);
    *p = (struct config_plan){0};
}

const char *plan_step_name(enum plan_step_kind kind)
{
    static const char *const names[] = {
        [PLAN_TUN_CREATE] = "create hawser0",
        [PLAN_TUN_SET] = "set hawser0",
        [PLAN_ADDRESS_ADD] = "add overlay address",
        [PLAN_RULE_ADD] = "add policy rule",
        [PLAN_BACKING_ADD] = "add unreachable route",
        [PLAN_ROUTE_SET] = "set route",
        [PLAN_UDP_ATTACH] = "attach UDP socket",
        [PLAN_NODE_SET] = "set node",
        [PLAN_LINK_SET] = "set link",
        [PLAN_FIB_COMMIT] = "commit forwarding table",
        [PLAN_LINK_REMOVE] = "remove link",
        [PLAN_ROUTE_REMOVE] = "remove route",
        [PLAN_BACKING_REMOVE] = "remove unreachable route",
        [PLAN_RULE_REMOVE] = "remove policy rule",
        [PLAN_ADDRESS_REMOVE] = "remove overlay address",
    };
    return names[kind];
}
