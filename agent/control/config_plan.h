/*
 * What changes between two configs: pure, so that "adding one prefix touches one route and the FIB"
 * is a unit test. A plan is a list of steps in the order in which they are executed; config_apply.c
 * executes them.
 */
#ifndef HAWSER_AGENT_CONTROL_CONFIG_PLAN_H
#define HAWSER_AGENT_CONTROL_CONFIG_PLAN_H

#include "common/err.h"
#include "common/ipaddr.h"
#include "common/model/gateway_config.h"
#include <stdbool.h>
#include <stddef.h>

enum plan_step_kind {
    PLAN_TUN = 1,  /* MTU or overlay addresses of hawser0 */
    PLAN_RULE_ADD, /* rule for the kernel's own answers: OWN to PEER */
    PLAN_RULE_REMOVE,
    PLAN_ROUTE_SET, /* TUN route and the unreachable route behind it; replaces an older MTU */
    PLAN_ROUTE_REMOVE,
    PLAN_NODE,        /* dataplane: own ids, overlay addresses, seeds */
    PLAN_LINK_SET,    /* dataplane: link `index` of the new config */
    PLAN_LINK_REMOVE, /* dataplane: link `index` of the old config */
    PLAN_FIB,         /* dataplane: the whole table */
    PLAN_SYSCTL,      /* forwarding, always last */
};

struct plan_step {
    enum plan_step_kind kind;
    struct prefix prefix;    /* routes */
    unsigned mtu;            /* routes and TUN */
    struct ipaddr own, peer; /* rules */
    size_t index;            /* links */
};

struct config_plan {
    struct plan_step *steps;
    size_t n_steps;
    bool keying; /* peers, links or policy differ: keying is told */
};

/* Inner MTU of each link of a config, in the order of links[]; from underlay_inner_mtu and the
 * peers' offers. */
struct plan_mtus {
    const unsigned *links;
    size_t n_links;
};

/* `old` may be NULL (nothing in force). */
int config_plan_make(const struct gateway_config *old, struct plan_mtus old_mtus,
                     const struct gateway_config *new_config, struct plan_mtus new_mtus,
                     struct config_plan *out, struct err *e);
void config_plan_done(struct config_plan *p);

#endif
