/* Routes: our own table, and the default route that names the interface when settings don't. */
#ifndef HAWSER_AGENT_CONTROL_NETLINK_ROUTE_H
#define HAWSER_AGENT_CONTROL_NETLINK_ROUTE_H

#include "agent/control/netlink/nl.h"

#define NL_ROUTE_PROTOCOL           87 /* rtm_protocol of all that Hawser adds */
#define NL_ROUTE_METRIC_TUN         100u
#define NL_ROUTE_METRIC_UNREACHABLE 65535u

struct nl_route {
    struct prefix prefix;
    uint32_t table;
    uint32_t metric;
    int ifindex;  /* 0 for an unreachable route */
    unsigned mtu; /* 0: the device's */
    bool unreachable;
    bool gateway; /* through a next hop */
};

typedef int (*nl_route_fn)(const struct nl_route *r, void *arg, struct err *e);
/* Every unicast and unreachable route of `table`, both families. */
int nl_route_each(struct nl *n, uint32_t table, nl_route_fn fn, void *arg, struct err *e);
/* Creates it, or changes what stands under the same prefix, metric and table. */
int nl_route_set(struct nl *n, const struct nl_route *r, struct err *e);
/* Removing one that is gone is no error. */
int nl_route_delete(struct nl *n, const struct nl_route *r, struct err *e);
/* Interface of the default route with the lowest metric, IPv4 before IPv6; HW_ENOTFOUND when there
 * is none. */
int nl_route_default_interface(struct nl *n, int *ifindex, struct err *e);

#endif
