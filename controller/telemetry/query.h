/*
 * Series over time out of the stored rows. Periods that are not rolled up yet come from the raw
 * rows, so that a chart ends now.
 */
#ifndef HAWSER_CONTROLLER_TELEMETRY_QUERY_H
#define HAWSER_CONTROLLER_TELEMETRY_QUERY_H

#include "controller/store/store.h"
#include "controller/telemetry/keeper.h"
#include "controller/telemetry/metric.h"

#define QUERY_SERIES_MAX 20
#define QUERY_VALUES_MAX 100000
#define QUERY_PERIODS    720 /* at most, when the step is chosen here */

struct query_series {
    struct metric_object object;
    const struct metric *metric;
    struct hw_id observer;       /* whose rows */
    struct metric_value *values; /* one for each of the query's times */
};

struct query {
    int64_t from, to;
    enum keeper_step step;
    struct query_series series[QUERY_SERIES_MAX];
    size_t n_series;
    int64_t *times; /* rising; of a period its begin */
    size_t n_times;
};
void query_done(struct query *q);

/* Finest step that is kept over the whole range and has at most QUERY_PERIODS periods (reports
 * count as 10 s). `detail`: of tunnels or workers. */
enum keeper_step query_step(int64_t from, int64_t to, int64_t now, bool detail);

/* Fills times and values. HW_EINVAL with field `step`: more than QUERY_VALUES_MAX. */
int query_run(struct db *db, struct query *q, struct err *e);

#endif
