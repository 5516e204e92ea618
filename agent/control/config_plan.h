/*
 * What has to be done to come from one state to another: pure, so that "adding one prefix touches
 * one route and the FIB" is a unit test. config_apply.c executes the steps in their order: what
 * must stand before traffic comes (TUN, rules, routes), the dataplane, then removals, and
 * forwarding last.
 */
#ifndef HAWSER_AGENT_CONTROL_CONFIG_PLAN_H
#define HAWSER_AGENT_CONTROL_CONFIG_PLAN_H

#include "agent/control/gateway_state.h"
#include "common/err.h"
#include <stdbool.h>
#include <stddef.h>

enum plan_step_kind {
    /* kernel, before the dataplane */
    PLAN_TUN_CREATE = 1,
    PLAN_TUN_SET, /* MTU and up */
    PLAN_ADDRESS_ADD,
    PLAN_RULE_ADD,
    PLAN_BACKING_ADD, /* the unreachable route behind a TUN route, before it */
    PLAN_ROUTE_SET,   /* TUN route, new or with another MTU */
    /* dataplane */
    PLAN_UDP_ATTACH,
    PLAN_NODE_SET,
    PLAN_LINK_SET,
    PLAN_FIB_COMMIT,
    PLAN_LINK_REMOVE,
    /* kernel, after the dataplane */
    PLAN_ROUTE_REMOVE,
    PLAN_BACKING_REMOVE,
    PLAN_RULE_REMOVE,
    PLAN_ADDRESS_REMOVE,
};
#define PLAN_FIRST_DATAPLANE PLAN_UDP_ATTACH
#define PLAN_FIRST_AFTER     PLAN_ROUTE_REMOVE

struct plan_step {
    enum plan_step_kind kind;
    size_t index; /* into the wanted state's list for what is set, the found one's for what is
                   * removed; UDP: port index, + HW_PORTS_PER_GATEWAY for family 6 */
};

struct config_plan {
    struct plan_step *steps;
    size_t n_steps;
};

int config_plan_make(const struct gateway_state *found, const struct gateway_state *want,
                     struct config_plan *out, struct err *e);
void config_plan_done(struct config_plan *p);
const char *plan_step_name(enum plan_step_kind kind);

#endif
