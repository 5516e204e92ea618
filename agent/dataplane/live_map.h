/*
 * Which workers have live tunnels of which link: written by each worker for its own bit, read by
 * all when they choose a next hop. A reader that sees an old bit sends one batch more into a dying
 * tunnel, or spares a new one.
 */
#ifndef HAWSER_DATAPLANE_LIVE_MAP_H
#define HAWSER_DATAPLANE_LIVE_MAP_H

#include "common/limits.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

_Static_assert(HW_WORKERS_MAX <= 64, "one bit a worker");

struct live_map {
    _Atomic uint64_t workers[HW_LINKS_MAX]; /* by link slot */
};

static inline void live_map_set(struct live_map *m, unsigned slot, unsigned worker, bool live)
{
    uint64_t bit = 1ull << worker;
    if (live)
        atomic_fetch_or_explicit(&m->workers[slot], bit, memory_order_relaxed);
    else
        atomic_fetch_and_explicit(&m->workers[slot], ~bit, memory_order_relaxed);
}
/* Bit i: worker i. */
static inline uint64_t live_map_get(const struct live_map *m, unsigned slot)
{
    return atomic_load_explicit(&m->workers[slot], memory_order_relaxed);
}

#endif
