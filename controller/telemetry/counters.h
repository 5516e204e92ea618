/*
 * The counters of a gateway's last report, by which those of the next become what was added in
 * between. Kept in memory, at some 80 bytes a tunnel; after a restart of the controller they are
 * made anew from the report in the store.
 */
#ifndef HAWSER_CONTROLLER_TELEMETRY_COUNTERS_H
#define HAWSER_CONTROLLER_TELEMETRY_COUNTERS_H

#include "common/model/report.h"
#include "controller/telemetry/pack.h"

struct counters_tunnel {
    uint16_t link; /* index into links */
    uint8_t number;
    uint64_t data[TUNNEL_COUNTERS]; /* by enum pack_tunnel_counter */
    uint64_t lost, answered;
};

struct counters {
    struct hw_id boot; /* of the dataplane; zero: away */
    struct counters_link {
        struct hw_id id;
        uint8_t state;
    } * links;
    size_t n_links;
    struct counters_tunnel *tunnels; /* in the report's order */
    size_t n_tunnels;
    uint64_t workers[HW_WORKERS_MAX][WORKER_COUNTERS];
    uint64_t drops[DROP_COUNT];
};

/* NULL when out of memory. */
struct counters *counters_of(const struct report *r);
void counters_free(struct counters *c);
/* A report without a dataplane has no counters: those from before go on counting when it is back,
 * and only the links' states are new. */
void counters_keep(struct counters *c, const struct report *r);

/* NULL: wasn't there. `hint` is where it stood if nothing changed. */
const struct counters_link *counters_link(const struct counters *c, const struct hw_id *id,
                                          size_t hint);
const struct counters_tunnel *counters_tunnel(const struct counters *c, const struct hw_id *link,
                                              unsigned number, size_t hint);

/* What a counter rose by. One that is smaller than before began anew and counts whole. */
static inline uint64_t counters_rise(uint64_t before, uint64_t now)
{
    return now >= before ? now - before : now;
}

/* Of all gateways, by id. Safe from any thread. */
struct counters_table;
struct counters_table *counters_table_new(void);
void counters_table_free(struct counters_table *t);
/* Takes the entry out, so that nobody else uses it; NULL: there is none. */
struct counters *counters_table_take(struct counters_table *t, const struct hw_id *gateway);
/* Takes `c` over. */
void counters_table_put(struct counters_table *t, const struct hw_id *gateway, struct counters *c,
                        uint64_t now_ns);
/* Forgets those that were put before `before_ns`: silent gateways, and such as are gone. */
void counters_table_prune(struct counters_table *t, uint64_t before_ns);

#endif
