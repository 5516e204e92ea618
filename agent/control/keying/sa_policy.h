/* How long a key may be used (DESIGN section 5, "Limits"), and by which suites this end may key
 * (section 9). Pure. */
#ifndef HAWSER_AGENT_CONTROL_KEYING_SA_POLICY_H
#define HAWSER_AGENT_CONTROL_KEYING_SA_POLICY_H

#include "common/dp_proto.h"
#include "common/model/gateway_config.h"
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

/* What has become of a link's permission. */
enum sa_permit {
    SA_PERMIT_NONE,      /* there is none */
    SA_PERMIT_IN_FORCE,  /* its suite may be offered and accepted */
    SA_PERMIT_WITHDRAWN, /* a denial names it */
    SA_PERMIT_OVER,      /* its time is over */
    SA_PERMIT_CLOCK,     /* nobody vouches for the time */
    SA_PERMIT_ENGINE,    /* it would hold, but the dataplane lacks the suite */
};
struct sa_permit_facts {
    bool withdrawn;
    bool was_over; /* it was seen to be over before: a clock that is set back doesn't revive it */
    bool clock_trusted;
    int64_t now_s;   /* trusted time */
    uint32_t engine; /* suites of the dataplane, bit (1 << enum esp_suite_id) */
};
enum sa_permit sa_policy_permit(const struct config_permission *p,
                                const struct sa_permit_facts *facts);
#define SA_PERMIT_TEXT_MAX 160
/* For people; "" where there is none. `suite`: what the link is keyed by. */
char *sa_policy_permit_text(const struct config_permission *p, enum sa_permit permit, uint8_t suite,
                            char out[SA_PERMIT_TEXT_MAX]);

#define SA_SUITES_MAX 9
/* What this end may key by, in order of preference, each of them the engine's: the permitted suite
 * while its permission is in force, then the link's. The rest of `out` is zeroed; returns how many.
 */
unsigned sa_policy_suites(const struct config_link *l, enum sa_permit permit, uint32_t engine,
                          uint8_t out[SA_SUITES_MAX]);

#endif
