/* What the controller does by the clock: rollups and expiry of telemetry, expiry of kept
 * answers and of denials, the end of permissions of the encryption policy, renewal of its own
 * certificates. In the main loop's thread. */
#ifndef HAWSER_CONTROLLER_HOUSEKEEPING_H
#define HAWSER_CONTROLLER_HOUSEKEEPING_H

#include "common/err.h"
#include "common/evloop.h"

struct app;
struct housekeeping;

int housekeeping_start(struct app *app, struct evloop *loop, struct housekeeping **out,
                       struct err *e);
/* Before the loop is freed. NULL is accepted. */
void housekeeping_stop(struct housekeeping *h);

#endif
