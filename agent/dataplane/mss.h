/* TCP maximum segment size (RFC 9293 section 3.7.1): lowered in SYN and SYN-ACK to what a tunnel
 * carries, so that no end host depends on ICMP. Never raised. */
#ifndef HAWSER_DATAPLANE_MSS_H
#define HAWSER_DATAPLANE_MSS_H

#include "agent/dataplane/inner.h"
#include <stdbool.h>
#include <stdint.h>

/* Cheap test for the caller's loop. */
static inline bool mss_wanted(const uint8_t *pkt, const struct inner *in)
{
    return in->proto == IP_PROTO_TCP && (in->flags & INNER_PORTS) && in->len >= in->l4 + 20 &&
           (pkt[in->l4 + 13] & 0x02);
}

/* Lowers the MSS option to fit inner packets of `mtu` bytes. `partial`: the checksum field holds a
 * pseudo header sum only (NEEDS_CSUM), which options don't enter. True when the packet was changed.
 */
bool mss_clamp(uint8_t *pkt, const struct inner *in, uint32_t mtu, bool partial);

#endif
