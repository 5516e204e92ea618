/* Executes the kernel's steps of a plan, one by one, and takes everything down. */
#ifndef HAWSER_AGENT_CONTROL_KERNEL_APPLY_H
#define HAWSER_AGENT_CONTROL_KERNEL_APPLY_H

#include "agent/control/config_plan.h"
#include "agent/control/netlink/nl.h"
#include <sys/types.h>

/* *tun_index: hawser0, changed by PLAN_TUN_CREATE. Each step may be done twice. */
int kernel_apply_step(struct nl *n, const struct plan_step *step, const struct gateway_state *found,
                      const struct gateway_state *want, uid_t tun_owner, int *tun_index,
                      struct err *e);

/* Removes our rules, table 18551 and hawser0. Goes on after a failure and returns the first. */
int kernel_apply_purge(struct nl *n, struct err *e);

#endif
