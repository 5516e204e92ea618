/* Failed authentications by client address: some are human, many a second are not. Safe from any
 * thread. */
#ifndef HAWSER_CONTROLLER_AUTH_RATELIMIT_H
#define HAWSER_CONTROLLER_AUTH_RATELIMIT_H

#include "common/ipaddr.h"
#include <stdbool.h>
#include <stdint.h>

#define RATELIMIT_BURST      60 /* failures at once … */
#define RATELIMIT_PER_SECOND 1  /* … and then at this rate */

struct ratelimit;

/* NULL when out of memory. */
struct ratelimit *ratelimit_new(void);
void ratelimit_free(struct ratelimit *r);

/* False while the address has failed too often; its credentials are then not looked at. IPv6 counts
 * by /64. */
bool ratelimit_allows(struct ratelimit *r, const struct ipaddr *a, uint64_t now_ns);
void ratelimit_failed(struct ratelimit *r, const struct ipaddr *a, uint64_t now_ns);

#endif
