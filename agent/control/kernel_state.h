/* Reads the kernel's part of a gateway_state: hawser0, its addresses, our rules, table 18551. */
#ifndef HAWSER_AGENT_CONTROL_KERNEL_STATE_H
#define HAWSER_AGENT_CONTROL_KERNEL_STATE_H

#include "agent/control/gateway_state.h"
#include "agent/control/netlink/nl.h"

/* Fills the kernel fields of *s (zero-initialised or done); the dataplane's are left alone. */
int kernel_state_read(struct nl *n, struct gateway_state *s, struct err *e);

#endif
