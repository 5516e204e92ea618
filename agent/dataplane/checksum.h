/*
 * Internet checksum (RFC 1071). Sums are kept unfolded, in memory order of 16-bit words (the
 * checksum does not care about byte order as long as it is stored back the same way), so nothing is
 * ever swapped.
 */
#ifndef HAWSER_DATAPLANE_CHECKSUM_H
#define HAWSER_DATAPLANE_CHECKSUM_H

#include "agent/dataplane/inner.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Adds `len` bytes at p (any alignment; an odd last byte counts as followed by zero) to an unfolded
 * sum. Only the last piece of a packet may be of odd length. */
uint64_t checksum_add(const void *p, size_t len, uint64_t sum);

/* Down to 16 bits, not complemented; store with checksum_store(). */
static inline uint16_t checksum_fold(uint64_t sum)
{
    sum = (sum & 0xffffffffu) + (sum >> 32);
    sum = (sum & 0xffffffffu) + (sum >> 32);
    sum = (sum & 0xffffu) + (sum >> 16);
    sum = (sum & 0xffffu) + (sum >> 16);
    return (uint16_t)sum;
}
static inline uint16_t checksum_load(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
static inline void checksum_store(void *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}
/* Unfolded sum of the pseudo header for `l4_len` bytes of `proto` (RFC 793, RFC 8200 section 8.1).
 */
uint64_t checksum_pseudo(const struct inner *in, uint8_t proto, uint32_t l4_len);

/* Field at p after a 16-bit word of the covered data changed from `from` to `to`, all three in
 * memory order (RFC 1624, equation 3). */
void checksum_replace16(void *p, uint16_t from, uint16_t to);

/* Sets the checksum of an IPv4 header of `ihl` bytes. */
void checksum_ipv4_set(uint8_t *hdr, size_t ihl);
bool checksum_ipv4_ok(const uint8_t *hdr, size_t ihl);

/* Completes a partial checksum: the field at start + offset holds the pseudo header's sum, the rest
 * up to `len` is added. A wrong partial sum gives a wrong checksum, on purpose. `udp`: a zero
 * result is written as 0xffff. False when the position lies outside. */
bool checksum_complete(uint8_t *pkt, size_t len, size_t start, size_t offset, bool udp);

/* True when the TCP or UDP checksum of a whole (unfragmented) packet is right. UDP over IPv4
 * without one (zero) is not. */
bool checksum_l4_ok(const uint8_t *pkt, const struct inner *in);

#endif
