/*
 * What is noticed of gateways between their words, in memory alone. Safe from any thread.
 *
 * Cloned machines: one identity that speaks from two boots at once. A boot id is made anew at every
 * boot and never comes back, so an id that returns after a newer one was seen means two machines
 * alive with the same key.
 *
 * Restless ones: a report that changes what planning depends on (endpoints, interfaces, workers)
 * has the whole fleet planned. A gateway may ask for that GATEWAY_WATCH_BURST times at once and
 * then once every GATEWAY_WATCH_PLAN_S; between, what it says is left aside, and as it says it
 * again in each report, its last state wins in the end.
 */
#ifndef HAWSER_CONTROLLER_TELEMETRY_GATEWAY_WATCH_H
#define HAWSER_CONTROLLER_TELEMETRY_GATEWAY_WATCH_H

#include "common/id.h"
#include <stdbool.h>
#include <stdint.h>

#define GATEWAY_WATCH_ALARM_S 600 /* how long an alarm stands after its last sign */
#define GATEWAY_WATCH_BURST   3
#define GATEWAY_WATCH_PLAN_S  60

struct gateway_watch;

/* NULL when out of memory. */
struct gateway_watch *gateway_watch_new(void);
void gateway_watch_free(struct gateway_watch *w);

/* Each authenticated word of a gateway that names its boot. */
void gateway_watch_boot(struct gateway_watch *w, const struct hw_id *gateway,
                        const struct hw_id *boot, uint64_t now_ns);
bool gateway_watch_cloned(struct gateway_watch *w, const struct hw_id *gateway, uint64_t now_ns);
/* May what this gateway reports be planned now? Counts it when it may. */
bool gateway_watch_plan(struct gateway_watch *w, const struct hw_id *gateway, uint64_t now_ns);
bool gateway_watch_restless(struct gateway_watch *w, const struct hw_id *gateway, uint64_t now_ns);
/* Of a gateway that enrolled anew or is gone: what was seen before doesn't count. */
void gateway_watch_forget(struct gateway_watch *w, const struct hw_id *gateway);

#endif
