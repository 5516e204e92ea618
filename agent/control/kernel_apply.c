#include "agent/control/kernel_apply.h"
#include "agent/control/kernel_state.h"
#include "agent/control/netlink/addr.h"
#include "agent/control/netlink/link.h"
#include "agent/control/sysctl.h"
#include "agent/control/tun_create.h"

static struct nl_route backing_route(const struct state_route *r)
{
    return (struct nl_route){.prefix = r->prefix,
                             .table = HW_TABLE,
                             .metric = NL_ROUTE_METRIC_UNREACHABLE,
                             .unreachable = true};
}

static struct nl_route tun_route(const struct state_route *r, int tun_index)
{
    return (struct nl_route){.prefix = r->prefix,
                             .table = HW_TABLE,
                             .metric = NL_ROUTE_METRIC_TUN,
                             .ifindex = tun_index,
                             .mtu = r->mtu};
}

static int create_tun(struct nl *n, uid_t owner, int *tun_index, struct err *e)
{
    bool created;
    int rc = tun_ensure(n, owner, tun_index, &created, e);
    if (rc == 0 && created)
        sysctl_prepare_tun();
    return rc;
}

int kernel_apply_step(struct nl *n, const struct plan_step *step, const struct gateway_state *found,
                      const struct gateway_state *want, uid_t tun_owner, int *tun_index,
                      struct err *e)
{
    size_t i = step->index;
    struct nl_route r;
    switch (step->kind) {
    case PLAN_TUN_CREATE:
        return create_tun(n, tun_owner, tun_index, e);
    case PLAN_TUN_SET:
        return nl_link_set(n, *tun_index, want->tun_mtu, true, e);
    case PLAN_ADDRESS_ADD:
        return nl_addr_add(n, *tun_index, &want->addresses[i].addr, e);
    case PLAN_RULE_ADD:
        return nl_rule_add(n, &want->rules[i], e);
    case PLAN_BACKING_ADD:
        r = backing_route(&want->routes[i]);
        return nl_route_set(n, &r, e);
    case PLAN_ROUTE_SET:
        r = tun_route(&want->routes[i], *tun_index);
        return nl_route_set(n, &r, e);
    case PLAN_ROUTE_REMOVE:
        r = tun_route(&found->routes[i], *tun_index);
        return nl_route_delete(n, &r, e);
    case PLAN_BACKING_REMOVE:
        r = backing_route(&found->routes[i]);
        return nl_route_delete(n, &r, e);
    case PLAN_RULE_REMOVE:
        return nl_rule_delete(n, &found->rules[i], e);
    case PLAN_ADDRESS_REMOVE:
        return nl_addr_delete(n, *tun_index, &found->addresses[i].addr, found->addresses[i].len, e);
    default:
        return err_set(e, HW_EINVAL, "%s is no step of the kernel", plan_step_name(step->kind));
    }
}

static void keep_first(int rc, int *first, struct err *e, const struct err *why)
{
    if (rc < 0 && *first == 0) {
        *first = rc;
        if (e)
            *e = *why;
    }
}

int kernel_apply_purge(struct nl *n, struct err *e)
{
    struct gateway_state found = {0}, nothing = {0};
    struct config_plan plan = {0};
    struct err why = {0};
    int first = 0;
    int rc = kernel_state_read(n, &found, &why);
    if (rc == 0)
        rc = config_plan_make(&found, &nothing, &plan, &why);
    keep_first(rc, &first, e, &why);
    int tun_index = found.tun_index;
    /* The table before the rules: while a rule stands, what it catches is refused, not sent in
     * plain. */
    for (size_t i = 0; i < plan.n_steps; i++) {
        rc = kernel_apply_step(n, &plan.steps[i], &found, &nothing, 0, &tun_index, &why);
        keep_first(rc, &first, e, &why);
    }
    if (found.tun_exists) {
        rc = nl_link_delete(n, tun_index, &why);
        keep_first(rc, &first, e, &why);
    }
    config_plan_done(&plan);
    gateway_state_done(&found);
    return first;
}
