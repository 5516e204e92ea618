/*
 * The counters memfd (common/dp_stats.h). Each field has one writing thread; stores are relaxed and
 * whole, so that the agent never reads half a number. The agent gets a descriptor that can only be
 * mapped for reading.
 */
#ifndef HAWSER_DATAPLANE_STATS_H
#define HAWSER_DATAPLANE_STATS_H

#include "common/dp_stats.h"
#include "common/err.h"

struct stats {
    int fd;       /* read and write; stays in this process */
    int agent_fd; /* read-only, sealed */
    struct dp_stats_header *header;
    struct dp_stats_worker *workers;
    struct dp_stats_tunnel *tunnels;
    size_t size;
};

/* Before the sandbox: the read-only descriptor is opened through /proc. */
int stats_open(struct stats *s, const struct hw_id *boot, unsigned workers, struct err *e);
void stats_close(struct stats *s);

/* Control thread: a slot that no tunnel uses, or NULL. The caller's worker fills and later clears
 * it. */
struct dp_stats_tunnel *stats_tunnel_slot(const struct stats *s);

static inline void stats_set(uint64_t *field, uint64_t v)
{
    __atomic_store_n(field, v, __ATOMIC_RELAXED);
}
/* By the field's one writer, so a plain read of it is right. */
static inline void stats_add(uint64_t *field, uint64_t n)
{
    __atomic_store_n(field, *field + n, __ATOMIC_RELAXED);
}
static inline void stats_set32(uint32_t *field, uint32_t v)
{
    __atomic_store_n(field, v, __ATOMIC_RELAXED);
}
/* By any thread. */
static inline uint64_t stats_get(const uint64_t *field)
{
    return __atomic_load_n(field, __ATOMIC_RELAXED);
}
static inline uint32_t stats_get32(const uint32_t *field)
{
    return __atomic_load_n(field, __ATOMIC_RELAXED);
}
static inline void stats_drop(struct dp_stats_worker *w, unsigned reason, uint64_t n)
{
    stats_add(&w->drops[reason], n);
}

#endif
