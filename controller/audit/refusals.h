/* Refused writes in the audit: so many that an attack shows, so few that it fills no disk. Safe
 * from any thread. */
#ifndef HAWSER_CONTROLLER_AUDIT_REFUSALS_H
#define HAWSER_CONTROLLER_AUDIT_REFUSALS_H

#include "controller/http/router.h"
#include "controller/store/store.h"

#define REFUSALS_BURST      60 /* recorded at once … */
#define REFUSALS_PER_SECOND 1  /* … and then at this rate; the rest is counted */

struct refusals;

/* NULL when out of memory. */
struct refusals *refusals_new(void);
void refusals_free(struct refusals *r);

/* May this one be recorded? *omitted: how many before it were not. */
bool refusals_take(struct refusals *r, uint64_t now_ns, unsigned *omitted);
/* Records a request that was answered `status`. A store that takes no writes changes nothing about
 * the refusal. */
void refusals_note(struct refusals *r, struct store *store, const struct http_request *req,
                   const struct http_route *route, int status);

#endif
