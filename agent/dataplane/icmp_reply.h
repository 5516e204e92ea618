/*
 * ICMP errors about inner packets: "too big" (RFC 1191, RFC 4443 section 3.2) and "time exceeded"
 * (RFC 792, RFC 4443 section 3.3). The limits of RFC 1812 section 4.3.2.7 and RFC 4443
 * section 2.4(e) hold: never about ICMP errors, later fragments, multicast, broadcast or
 * unspecified addresses. How often is the caller's affair.
 */
#ifndef HAWSER_DATAPLANE_ICMP_REPLY_H
#define HAWSER_DATAPLANE_ICMP_REPLY_H

#include "agent/dataplane/inner.h"
#include <stddef.h>
#include <stdint.h>

#define ICMP_REPLY_MAX 1280 /* largest packet written */

/* Each writes an IP packet from `from` (4 or 16 bytes, same family) to the packet's source into out
 * and returns its length, or 0 when none may be sent or `cap` is too small (ICMP_REPLY_MAX always
 * suffices). */
size_t icmp_reply_too_big(const uint8_t *pkt, const struct inner *in, const uint8_t *from,
                          uint32_t mtu, uint8_t *out, size_t cap);
size_t icmp_reply_time_exceeded(const uint8_t *pkt, const struct inner *in, const uint8_t *from,
                                uint8_t *out, size_t cap);

#endif
