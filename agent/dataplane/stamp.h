/*
 * STAMP packets (RFC 8762 unauthenticated mode with RFC 8972's session id and padding) as whole
 * inner IP packets between the overlay addresses of two gateways. They travel inside ESP, which
 * does the authenticating. Clocks of the two ends are never compared: the sender matches sequence
 * numbers and uses its own monotonic time.
 */
#ifndef HAWSER_DATAPLANE_STAMP_H
#define HAWSER_DATAPLANE_STAMP_H

#include "agent/dataplane/inner.h"
#include "common/ipaddr.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAMP_PORT        862   /* reflector (RFC 8762 section 4.1) */
#define STAMP_SENDER_PORT 49862 /* where the answers go */
#define STAMP_LEN         44 /* test packet without padding, both directions (RFC 8762 section 4.6) */
#define STAMP_PACKET_MIN  (40 + 8 + STAMP_LEN)

enum stamp_kind {
    STAMP_NOT = 0, /* something else: goes its normal way */
    STAMP_TEST,    /* to be reflected */
    STAMP_ANSWER,  /* of a reflector to one of our probes */
};

/* What an inner packet to an own overlay address is, by its ports. `len` checked to hold a test
 * packet. */
enum stamp_kind stamp_kind(const uint8_t *pkt, const struct inner *in);

/* Writes a test packet of `len` bytes in all (IP header included; at least what the family needs,
 * the rest becomes an Extra Padding TLV, RFC 8972 section 4.1) and returns its length, or 0 when
 * `len` is too small. */
size_t stamp_test(uint8_t *out, size_t len, const struct ipaddr *from, const struct ipaddr *to,
                  uint32_t seq, uint16_t ssid);

/* Turns a test packet in place into the answer to it, of the same length (RFC 8762 section 4.3,
 * stateless). */
void stamp_reflect(uint8_t *pkt, const struct inner *in);

/* Sender's sequence number and session id out of an answer. */
uint32_t stamp_answer_seq(const uint8_t *pkt, const struct inner *in);
uint16_t stamp_answer_ssid(const uint8_t *pkt, const struct inner *in);

#endif
