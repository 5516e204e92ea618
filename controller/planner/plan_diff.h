/* What lies between two plans of the same fleet: for the preview of a change. Pure. */
#ifndef HAWSER_CONTROLLER_PLANNER_PLAN_DIFF_H
#define HAWSER_CONTROLLER_PLANNER_PLAN_DIFF_H

#include "controller/planner/planner.h"

/* A plan and what it was made of. */
struct plan_side {
    const struct topology *topology;
    const struct plan *plan;
};

struct plan_change {
    const struct planned_link *before, *after; /* NULL: a new link; one that goes */
    unsigned mtu_before, mtu_after; /* inner, as the interfaces let expect; 0: not known, no link */
};

struct plan_diff {
    struct plan_change *changes; /* by link id; borrows from the plans */
    size_t n_changes;
    unsigned tunnels_added, tunnels_removed;
    unsigned tunnels_rekeyed; /* of links that stay, and get other addresses, ports or suites */
    double
        flows_moved; /* share of the buckets of next-hop sets that stay which change their link */
};

int plan_diff(const struct plan_side *before, const struct plan_side *after, struct plan_diff *out,
              struct err *e);
void plan_diff_done(struct plan_diff *d);

#endif
