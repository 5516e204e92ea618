/*
 * What this gateway measures: reads the dataplane's counters (dp_stats.h), makes rates over the
 * time since the last look, and fills reports and `status`. The arithmetic is pure
 * (telemetry_rates); reading is not.
 */
#ifndef HAWSER_AGENT_CONTROL_TELEMETRY_H
#define HAWSER_AGENT_CONTROL_TELEMETRY_H

#include "common/dp_stats.h"
#include "common/err.h"
#include "common/model/report.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct telemetry;

/* Sums of one look at the counters. */
struct telemetry_sample {
    uint64_t mono_ns;
    struct hw_id boot; /* another one: no rates across it */
    uint64_t tx_packets, tx_inner, tx_wire, rx_packets, rx_inner, rx_wire;
    unsigned workers;
    uint64_t busy_ns[HW_WORKERS_MAX];
};

struct telemetry_rates {
    double interval_s; /* 0: no rates */
    uint64_t goodput_tx_bps, goodput_rx_bps, wire_tx_bps, wire_rx_bps;
    double busy[HW_WORKERS_MAX];
    size_t workers;
};

/* Bits a second of a counter that only rises; 0 when it went back (a new slot) or no time passed.
 */
uint64_t telemetry_bps(uint64_t before, uint64_t now, uint64_t ns);
struct telemetry_rates telemetry_rates(const struct telemetry_sample *before,
                                       const struct telemetry_sample *now);

int telemetry_new(struct telemetry **out, struct err *e);
void telemetry_free(struct telemetry *t);

/* Maps the counters of a new dataplane connection; −1: it is gone. The fd stays the caller's. */
int telemetry_attach(struct telemetry *t, int fd, struct err *e);

/* Makes rates over the time since the last look; less than half a second after it they stay as they
 * are. Only who reports looks, so that a rate is that of a report's interval. */
void telemetry_look(struct telemetry *t, uint64_t now_ns);
/* Totals and drops of this moment; rates, workers and interval of the last look. */
void telemetry_fill(const struct telemetry *t, struct report *r);
/* Rates and tunnels of one link; `offset` and `port_base` give each tunnel's port. tunnels[] must
 * be freed. HW_ENOTFOUND when the dataplane has no tunnel of it. */
int telemetry_fill_link(const struct telemetry *t, const struct hw_id *link, uint16_t port_base,
                        unsigned offset, struct report_link *out, struct err *e);
/* Index of a worker whose heart has stood still for `limit_ns`, or −1. */
int telemetry_still_worker(struct telemetry *t, uint64_t now_ns, uint64_t limit_ns);

#endif
