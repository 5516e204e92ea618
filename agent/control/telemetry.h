/*
 * What this gateway measures: reads the dataplane's counters (dp_stats.h) each second and at every
 * report, and fills reports and `status`. The arithmetic is telemetry_window's.
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

int telemetry_new(struct telemetry **out, struct err *e);
void telemetry_free(struct telemetry *t);

/* Maps the counters of a new dataplane connection; −1: it is gone. The fd stays the caller's. */
int telemetry_attach(struct telemetry *t, int fd, struct err *e);

/* One look at the counters, each second. */
void telemetry_sample(struct telemetry *t, uint64_t now_ns);
/* Ends the interval of a report: its figures stand until the next is ended. Only who reports calls
 * it; intervals under half a second are none. */
void telemetry_close(struct telemetry *t, uint64_t now_ns);
/* Counters of this moment; rates and spreads of the last interval. */
void telemetry_fill(const struct telemetry *t, struct report *r);
/* Rates and tunnels of one link; `offset` and `port_base` give each tunnel's port. tunnels[] must
 * be freed. HW_ENOTFOUND when the dataplane has no tunnel of it. */
int telemetry_fill_link(const struct telemetry *t, const struct hw_id *link, uint16_t port_base,
                        unsigned offset, struct report_link *out, struct err *e);
/* Index of a worker whose heart has stood still for `limit_ns`, or −1. */
int telemetry_still_worker(struct telemetry *t, uint64_t now_ns, uint64_t limit_ns);

#endif
