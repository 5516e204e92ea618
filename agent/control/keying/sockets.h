/* TCP sockets of keying: marked, so that they stay out of the tunnels (DESIGN section 6). */
#ifndef HAWSER_AGENT_CONTROL_KEYING_SOCKETS_H
#define HAWSER_AGENT_CONTROL_KEYING_SOCKETS_H

#include "common/err.h"
#include "common/ipaddr.h"
#include <stdint.h>

/* Non-blocking, close-on-exec, from the planned local address; the connect may still be under way.
 * The fd or a negative code. */
int sockets_dial(const struct ipaddr *local, const struct ipaddr *remote, uint16_t port,
                 struct err *e);
/* Listens on the wildcard address of one family (4 or 6). */
int sockets_listen(unsigned family, uint16_t port, struct err *e);
/* HW_EAGAIN when nobody waits; HW_ENOMEM when the process is out of descriptors or memory. */
int sockets_accept(int listen_fd, struct ipaddr *from, struct err *e);

#endif
