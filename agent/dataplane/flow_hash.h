/*
 * Which flow a packet belongs to: a hash of the inner 5-tuple that is the same for both directions
 * and on every gateway of the fleet (DESIGN section 8). Fragments hash on addresses and protocol
 * alone, ICMP errors on the packet that they quote (whose addresses are swapped, which symmetry
 * makes harmless).
 */
#ifndef HAWSER_DATAPLANE_FLOW_HASH_H
#define HAWSER_DATAPLANE_FLOW_HASH_H

#include "agent/dataplane/inner.h"
#include <stdint.h>

/* Once per super-packet, with the flow seed. `pkt` is what `in` was parsed from. */
uint64_t flow_hash(const uint8_t *pkt, const struct inner *in, uint64_t flow_seed);

/* A second, independent value from the first, with another seed: gateway -> tunnel. */
uint64_t flow_hash_again(uint64_t hash, uint64_t tunnel_seed);

/* Uniform choice of one of n (n ≥ 1) by a hash. */
static inline uint32_t flow_hash_pick(uint64_t hash, uint32_t n)
{
    return (uint32_t)(((hash >> 32) * n) >> 32);
}

#endif
