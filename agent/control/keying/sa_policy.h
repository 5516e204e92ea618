/* How long a key may be used (DESIGN section 5, "Limits"). Pure. */
#ifndef HAWSER_AGENT_CONTROL_KEYING_SA_POLICY_H
#define HAWSER_AGENT_CONTROL_KEYING_SA_POLICY_H

#include "common/dp_proto.h"
#include <stdbool.h>
#include <stdint.h>

#define SA_SOFT_SECONDS 3600u
#define SA_HARD_SECONDS 28800u
#define SA_SOFT_BYTES   (1ull << 38)
#define SA_HARD_BYTES   (1ull << 42)
/* Without ESN the sequence number itself ends (RFC 4303 section 3.3.3). */
#define SA_SOFT_PACKETS_NO_ESN (1ull << 31)
#define SA_HARD_PACKETS_NO_ESN ((1ull << 32) - 1)
#define SA_WINDOW              8192u

/* A replaced inbound SA still takes what is under way. */
#define SA_OLD_IN_NS     (30 * 1000000000ull)
#define SA_DELETED_IN_NS (1 * 1000000000ull)

struct sa_policy {
    uint32_t soft_seconds, hard_seconds;
    uint64_t soft_bytes, hard_bytes;
    uint32_t window;
    bool esn;
};

/* Zeros become the designed values; a hard limit below its soft one is raised to it. */
void sa_policy_init(struct sa_policy *p, uint32_t soft_seconds, uint32_t hard_seconds,
                    uint64_t soft_bytes, uint64_t hard_bytes, uint32_t window, bool esn);
/* Writes the limits of one SA into the request; m->esn says which kind it is. */
void sa_policy_limits(const struct sa_policy *p, struct dp_sa_install *m);
/* Age at which this end starts the next epoch: soft ± 10 %, so that links and ends don't move in
 * step. */
uint64_t sa_policy_soft_ns(const struct sa_policy *p, uint32_t random);

#endif
