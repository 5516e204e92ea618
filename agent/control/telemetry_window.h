/*
 * What happened between two reports: takes one look at each tunnel's counters a second and makes
 * averages over the interval with its smallest and largest second. Pure: counters and the clock
 * come in, so a late look just covers more time, and a counter that went back or belongs to another
 * tunnel than before counts from there on.
 */
#ifndef HAWSER_AGENT_CONTROL_TELEMETRY_WINDOW_H
#define HAWSER_AGENT_CONTROL_TELEMETRY_WINDOW_H

#include "common/err.h"
#include "common/id.h"
#include "common/limits.h"
#include "common/model/report.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WINDOW_MIN_NS (500 * 1000000ull) /* of a sample, and of an interval */

struct window;

/* One slot of the dataplane's table of tunnels, as it reads now. */
struct window_reading {
    struct hw_id link;
    uint16_t tunnel;
    uint64_t tx_bytes, rx_bytes, tx_wire, rx_wire, tx_packets, rx_packets;
    uint64_t answered, lost, rtt_sum, rtt_last;
};

/* Of the last interval that was closed. */
struct window_link {
    uint64_t tx_bps, rx_bps, wire_tx_bps, wire_rx_bps, tx_pps, rx_pps;
    struct report_spread goodput_tx, goodput_rx, rtt_us;
    struct report_ratio loss, imbalance;
};

int window_new(unsigned slots, unsigned workers, struct window **out, struct err *e);
void window_free(struct window *w);

/* A sample: false when the last one is less than half a second ago, and then nothing else is
 * called. Every slot is told, used or not, then the workers' busy time, then the end. */
bool window_sample(struct window *w, uint64_t now_ns);
void window_slot(struct window *w, unsigned i, const struct window_reading *r); /* NULL: free */
void window_worker(struct window *w, unsigned i, uint64_t busy_ns);
void window_sample_end(struct window *w);

/* Ends the interval with the last sample, if it is at least half a second long: its figures stand
 * until the next is closed. */
void window_close(struct window *w);

/* Figures of the last interval. */
void window_totals(const struct window *w, struct report *r);
bool window_link(const struct window *w, const struct hw_id *id, struct window_link *out);
void window_rtt(const struct window *w, unsigned slot, uint64_t *min, uint64_t *max);

/* A second's worth of a counter that only rises; 0 when it went back (a new slot) or no time
 * passed. */
uint64_t window_rate(uint64_t before, uint64_t now, uint64_t ns);

#endif
