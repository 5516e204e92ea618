/*
 * Cloned machines: one identity that speaks from two boots at once. A boot id is made anew at every
 * boot and never comes back, so an id that returns after a newer one was seen means two machines
 * alive with the same key. Safe from any thread.
 */
#ifndef HAWSER_CONTROLLER_TELEMETRY_BOOT_WATCH_H
#define HAWSER_CONTROLLER_TELEMETRY_BOOT_WATCH_H

#include "common/id.h"
#include <stdbool.h>
#include <stdint.h>

#define BOOT_WATCH_ALARM_S                                                                         \
    600 /* how long the alarm stands after the last sign of a second machine */

struct boot_watch;

/* NULL when out of memory. */
struct boot_watch *boot_watch_new(void);
void boot_watch_free(struct boot_watch *w);

/* Each authenticated word of a gateway that names its boot. */
void boot_watch_seen(struct boot_watch *w, const struct hw_id *gateway, const struct hw_id *boot,
                     uint64_t now_ns);
bool boot_watch_cloned(struct boot_watch *w, const struct hw_id *gateway, uint64_t now_ns);
/* Of a gateway that enrolled anew or is gone: what was seen before doesn't count. */
void boot_watch_forget(struct boot_watch *w, const struct hw_id *gateway);

#endif
