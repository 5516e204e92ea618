/* The machine's interfaces by role and the endpoints that follow from them (DESIGN section 3.2). */
#ifndef HAWSER_AGENT_CONTROL_INTERFACES_H
#define HAWSER_AGENT_CONTROL_INTERFACES_H

#include "agent/control/cloud/facts.h"
#include "agent/control/netlink/nl.h"
#include "agent/control/settings.h"
#include "common/model/node.h"
#include <net/if.h>

struct interface_roles {
    char site[IFNAMSIZ];
    char underlay[IFNAMSIZ]; /* may be the same */
};

/* From the settings; what they leave open is the default route's interface, or else the one that
 * they name. */
int interfaces_roles(struct nl *n, const struct agent_settings *s, struct interface_roles *out,
                     struct err *e);
/* Interfaces with role, MTU and addresses, and as endpoints the underlay interface's global
 * addresses and those that are translated to them 1:1: by the settings (`public_addresses`), or
 * else by what the cloud says (`facts`, may be NULL). */
int interfaces_read(struct nl *n, const struct agent_settings *s, const struct cloud_facts *facts,
                    struct node *out, struct err *e);

#endif
