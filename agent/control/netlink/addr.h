/* Addresses of interfaces. */
#ifndef HAWSER_AGENT_CONTROL_NETLINK_ADDR_H
#define HAWSER_AGENT_CONTROL_NETLINK_ADDR_H

#include "agent/control/netlink/nl.h"

struct nl_addr {
    int ifindex;
    struct ipaddr addr;
    uint8_t len;
    bool global;    /* scope: neither link nor host */
    bool temporary; /* RFC 8981, deprecated or still tentative: nothing to be reached at */
    bool by_kernel; /* the link-local address that the kernel made itself */
};

typedef int (*nl_addr_fn)(const struct nl_addr *a, void *arg, struct err *e);
int nl_addr_each(struct nl *n, nl_addr_fn fn, void *arg, struct err *e);
/* A host address (/32 or /128) without duplicate address detection. Adding one that is there is no
 * error. */
int nl_addr_add(struct nl *n, int ifindex, const struct ipaddr *a, struct err *e);
/* Removing one that is gone is no error. */
int nl_addr_delete(struct nl *n, int ifindex, const struct ipaddr *a, uint8_t len, struct err *e);

#endif
