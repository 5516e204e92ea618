/*
 * The kernel settings that a gateway needs, on its own interfaces alone: forwarding, loose
 * reverse-path filter, no redirects. What they were before is kept in STATE_DIR/sysctl.saved (in
 * sysctl.conf's form) until `--purge`.
 */
#ifndef HAWSER_AGENT_CONTROL_SYSCTL_H
#define HAWSER_AGENT_CONTROL_SYSCTL_H

#include "agent/control/interfaces.h"
#include "common/err.h"
#include "common/id.h"
#include <stdbool.h>

/* Sets what differs, forwarding last: rules and routes must stand before. `boot`: values saved
 * under another boot id are forgotten, since the kernel started anew. */
int sysctl_apply(const char *state_dir, const struct hw_id *boot,
                 const struct interface_roles *roles, struct err *e);
/* Puts the saved values back and removes the file. Interfaces that are gone are skipped. */
int sysctl_restore(const char *state_dir, struct err *e);
/* Before hawser0 comes up: it makes no link-local address by itself, and has IPv6 whatever the
 * default is. */
void sysctl_prepare_tun(void);
/* False when the kernel was started without IPv6. */
bool sysctl_has_ipv6(void);
/* Both families forward. */
bool sysctl_forwarding(void);

#endif
