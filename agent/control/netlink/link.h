/* Network devices: look up, list, change, delete. */
#ifndef HAWSER_AGENT_CONTROL_NETLINK_LINK_H
#define HAWSER_AGENT_CONTROL_NETLINK_LINK_H

#include "agent/control/netlink/nl.h"
#include <net/if.h>

struct nl_link {
    int index;
    char name[IFNAMSIZ];
    unsigned mtu;
    bool up; /* administratively */
    bool loopback;
    struct nl_link_tun {
        bool tun; /* kind "tun", type TUN (not TAP) */
        bool persistent, multi_queue, vnet_hdr, packet_info;
        uint32_t owner;  /* UINT32_MAX: none */
        uint32_t queues; /* attached at this moment */
    } tun;
};

/* HW_ENOTFOUND when there is none of that name. */
int nl_link_get(struct nl *n, const char *name, struct nl_link *out, struct err *e);
typedef int (*nl_link_fn)(const struct nl_link *l, void *arg, struct err *e);
int nl_link_each(struct nl *n, nl_link_fn fn, void *arg, struct err *e);
int nl_link_set(struct nl *n, int index, unsigned mtu, bool up, struct err *e);
int nl_link_delete(struct nl *n, int index, struct err *e);

#endif
