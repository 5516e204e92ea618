/* Policy rules of the two priorities that belong to Hawser. */
#ifndef HAWSER_AGENT_CONTROL_NETLINK_RULE_H
#define HAWSER_AGENT_CONTROL_NETLINK_RULE_H

#include "agent/control/netlink/nl.h"

/* The two shapes in use (DESIGN section 6):
 * priority HW_RULE_PRIO_OWN: `iif lo from OWN to PEER lookup main`
 * priority HW_RULE_PRIO_TABLE: `not fwmark HW_MARK lookup HW_TABLE`, family in own.family */
struct nl_rule {
    uint32_t priority;
    struct ipaddr own, peer; /* peer.family 0 in the second shape */
    bool foreign;            /* read back: our priority, but neither shape */
};

typedef int (*nl_rule_fn)(const struct nl_rule *r, void *arg, struct err *e);
/* Rules of both families that stand under our priorities. */
int nl_rule_each(struct nl *n, nl_rule_fn fn, void *arg, struct err *e);
/* Adding one that is there, or removing one that is gone, is no error. */
int nl_rule_add(struct nl *n, const struct nl_rule *r, struct err *e);
int nl_rule_delete(struct nl *n, const struct nl_rule *r, struct err *e);

#endif
