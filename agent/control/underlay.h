/* The machine's own side of the underlay: the socket mark, interface MTU and inner MTU of a link.
 */
#ifndef HAWSER_AGENT_CONTROL_UNDERLAY_H
#define HAWSER_AGENT_CONTROL_UNDERLAY_H

#include "agent/control/netlink/nl.h"
#include "common/err.h"
#include "common/ipaddr.h"
#include <stdint.h>

/* Sets HW_MARK on a socket of the underlay, which keeps it out of table 18551 (DESIGN section 6).
 * Every socket that speaks to peers or the controller needs it before connect, bind or listen. */
int underlay_socket_mark(int fd, struct err *e);

/* MTU of the interface that holds `local`; HW_ENOTFOUND when none does. */
int underlay_mtu(struct nl *n, const struct ipaddr *local, unsigned *mtu, struct err *e);

/* Largest inner packet of a tunnel over an underlay of `outer_mtu` bytes under any of the suites in
 * `suites` (bits 1 << enum esp_suite_id): MTU minus exact overhead, at most 65,521. `family` of the
 * outer packet: 4 or 6. */
unsigned underlay_inner_mtu(unsigned outer_mtu, unsigned family, uint32_t suites);

#endif
