/* The dataplane's UDP sockets, made here because it may not: one for each port index in use and
 * family. */
#ifndef HAWSER_AGENT_CONTROL_UDP_SOCKETS_H
#define HAWSER_AGENT_CONTROL_UDP_SOCKETS_H

#include "common/err.h"
#include "common/limits.h"
#include "common/model/gateway_config.h"
#include <stdint.h>

/* Port indexes in use, bit i = port base + i, for each family. */
struct udp_ports {
    uint64_t v4, v6;
};

/* What a config's enabled and disabled links need. */
struct udp_ports udp_ports_needed(const struct gateway_config *c);

/* Wildcard bind to port_base + index, IPV6_V6ONLY for family 6, mark HW_MARK, IP_PMTUDISC_PROBE and
 * its IPv6 twins (RFC 8899: only our own probes judge the path), 4 MiB buffers, non-blocking.
 * Returns the fd or a negative code. */
int udp_socket_open(unsigned family, uint16_t port_base, unsigned index, struct err *e);

#endif
