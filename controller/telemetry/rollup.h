/*
 * Several rows of a gateway become one: averages weighted by the time that they cover, smallest of
 * smallest, largest of largest, counters added, the worst state, the smallest MTU. A link or tunnel
 * that stands in some of the rows alone is taken from these. Pure.
 */
#ifndef HAWSER_CONTROLLER_TELEMETRY_ROLLUP_H
#define HAWSER_CONTROLLER_TELEMETRY_ROLLUP_H

#include "controller/telemetry/pack.h"

/* Begins as {0}; ends with rollup_done. */
struct rollup {
    struct pack_row row; /* valid after rollup_close */
    double gateway_ms[GATEWAY_GAUGES];
    struct rollup_link *links;     /* beside row.links */
    struct rollup_tunnel *tunnels; /* beside row.tunnels, whose `link` counts row.links */
    double worker_ms[HW_WORKERS_MAX];
};

/* Rows in the order of their time. A period in which links came and went may name more of them, or
 * of their tunnels, than one row holds: the last to come are left out. */
int rollup_add(struct rollup *u, const struct pack_row *r, struct err *e);
/* Sorts; no more rows after it. */
int rollup_close(struct rollup *u, struct err *e);
void rollup_done(struct rollup *u);

#endif
