/* The answer of POST /api/v1/plan. */
#ifndef HAWSER_CONTROLLER_API_PLAN_JSON_H
#define HAWSER_CONTROLLER_API_PLAN_JSON_H

#include "common/err.h"
#include "controller/planner/plan_diff.h"

#define PLAN_CHANGES_MAX 50

struct plan_refusal {
    bool refused;
    size_t change; /* index of the write */
    int status;    /* what it would be answered */
    struct err why;
};

struct plan_report {
    const struct plan_refusal *refusal;
    struct plan_side before, after; /* the same when refused */
    struct plan_diff diff;
    struct hw_id *pushed; /* gateways whose config would change; owned by who fills it */
    size_t n_pushed;
};

/* NULL: out of memory. */
char *plan_json(const struct plan_report *r);

#endif
