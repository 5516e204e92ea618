#include "controller/telemetry/query.h"
#include "common/log.h"
#include "controller/store/telemetry_row.h"
#include <stdlib.h>

#define REPORT_S 10
#define GAP_S    30 /* raw rows further apart show a gap in between */

void query_done(struct query *q)
{
    for (size_t i = 0; i < q->n_series; i++)
        free(q->series[i].values);
    free(q->times);
}

enum keeper_step query_step(int64_t from, int64_t to, int64_t now, bool detail)
{
    enum keeper_step coarsest = detail ? KEEPER_QUARTER : KEEPER_HOUR;
    for (int i = KEEPER_RAW; i < (int)coarsest; i++) {
        const struct keeper_rule *r = &keeper_rules[i];
        int64_t period = r->seconds ? r->seconds : REPORT_S;
        if (now - from <= (detail ? r->keep_detail : r->keep_main) &&
            (to - from) / period <= QUERY_PERIODS)
            return (enum keeper_step)i;
    }
    return coarsest;
}

static bool needs_detail(const struct query *q, const struct hw_id *observer)
{
    for (size_t i = 0; i < q->n_series; i++)
        if (id_equal(&q->series[i].observer, observer) && q->series[i].object.kind >= METRIC_TUNNEL)
            return true;
    return false;
}

/* ---- times ---- */

static int too_many(struct err *e)
{
    return err_set_field(e, HW_EINVAL, "step", "more than %d values: choose a longer step",
                         QUERY_VALUES_MAX);
}

static int regular_times(struct query *q, struct err *e)
{
    int64_t seconds = keeper_rules[q->step].seconds, first = q->from - q->from % seconds;
    int64_t n = q->to > first ? (q->to - first + seconds - 1) / seconds : 0;
    if (n * (int64_t)q->n_series > QUERY_VALUES_MAX)
        return too_many(e);
    q->from = first;
    q->times = calloc((size_t)n + 1, sizeof *q->times);
    if (!q->times)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (q->n_times = 0; q->n_times < (size_t)n; q->n_times++)
        q->times[q->n_times] = first + (int64_t)q->n_times * seconds;
    return 0;
}

struct collect {
    struct query *q;
    size_t cap;
};

/* Several observers report at the same seconds: what the answer has is counted once they are
 * joined, here only what must be held for that. */
static int collect_time(void *arg, int64_t at, struct err *e)
{
    struct collect *c = arg;
    if (c->q->n_times > QUERY_VALUES_MAX)
        return too_many(e);
    if (c->q->n_times == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 256;
        int64_t *more = realloc(c->q->times, cap * sizeof *more);
        if (!more)
            return err_set(e, HW_ENOMEM, "out of memory");
        c->q->times = more;
        c->cap = cap;
    }
    c->q->times[c->q->n_times++] = at;
    return 0;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The rows' own seconds, each once, and one in each gap, at which nobody has a value. */
static int raw_times(struct db *db, struct query *q, struct err *e)
{
    struct collect c = {.q = q};
    int rc = 0;
    for (size_t i = 0; !rc && i < q->n_series; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen = seen || id_equal(&q->series[k].observer, &q->series[i].observer);
        if (!seen)
            rc = store_telemetry_row_times(db, &q->series[i].observer, 0, q->from, q->to,
                                           collect_time, &c, e);
    }
    if (rc || q->n_times == 0)
        return rc;
    qsort(q->times, q->n_times, sizeof *q->times, by_time);
    size_t rows = q->n_times, n = 1;
    for (size_t i = 1; i < rows; i++)
        if (q->times[i] != q->times[n - 1])
            q->times[n++] = q->times[i];
    q->n_times = n;
    for (size_t i = 1; !rc && i < n; i++)
        if (q->times[i] - q->times[i - 1] > GAP_S)
            rc = collect_time(&c, q->times[i - 1] + REPORT_S, e);
    if (!rc && q->n_times * q->n_series > QUERY_VALUES_MAX)
        rc = too_many(e);
    if (!rc)
        qsort(q->times, q->n_times, sizeof *q->times, by_time);
    return rc;
}

/* ---- values ---- */

static int make_values(struct query *q, struct err *e)
{
    for (size_t i = 0; i < q->n_series; i++) {
        q->series[i].values = calloc(q->n_times + 1, sizeof *q->series[i].values);
        if (!q->series[i].values)
            return err_set(e, HW_ENOMEM, "out of memory");
        for (size_t k = 0; k < q->n_times; k++)
            q->series[i].values[k] = (struct metric_value){NAN, NAN, NAN};
    }
    return 0;
}

static void take(struct query *q, const struct hw_id *observer, int64_t at,
                 const struct pack_row *row)
{
    const int64_t *found = bsearch(&at, q->times, q->n_times, sizeof at, by_time);
    for (size_t i = 0; found && i < q->n_series; i++) {
        struct query_series *s = &q->series[i];
        if (id_equal(&s->observer, observer))
            s->values[found - q->times] = metric_value(s->metric, &s->object, row);
    }
}

struct reading {
    struct query *q;
    const struct hw_id *observer;
    bool detail;
    struct rollup tail; /* of the raw rows of period tail_at */
    int64_t tail_at;
};

static int read_row(void *arg, const struct store_telemetry_row *stored, struct err *e)
{
    struct reading *r = arg;
    struct pack_row row;
    struct err why = {0};
    (void)e;
    if (keeper_decode(stored, r->detail, &row, &why)) {
        log_warn_limited("telemetry: %s", why.text);
        return 0;
    }
    take(r->q, r->observer, stored->at, &row);
    pack_row_done(&row);
    return 0;
}

static int end_tail(struct reading *r, struct err *e)
{
    int rc = 0;
    if (r->tail.row.reports) {
        rc = rollup_close(&r->tail, e);
        if (!rc)
            take(r->q, r->observer, r->tail_at, &r->tail.row);
    }
    rollup_done(&r->tail);
    return rc;
}

static int read_tail(void *arg, const struct store_telemetry_row *stored, struct err *e)
{
    struct reading *r = arg;
    int64_t at = stored->at - stored->at % keeper_rules[r->q->step].seconds;
    struct pack_row row;
    int rc = at != r->tail_at ? end_tail(r, e) : 0;
    r->tail_at = at;
    if (rc || keeper_decode(stored, r->detail, &row, NULL))
        return rc;
    rc = rollup_add(&r->tail, &row, e);
    pack_row_done(&row);
    return rc;
}

static int read_observer(struct db *db, struct query *q, const struct hw_id *observer,
                         struct err *e)
{
    struct reading r = {.q = q, .observer = observer, .detail = needs_detail(q, observer)};
    unsigned seconds = keeper_rules[q->step].seconds;
    int64_t rolled = q->to;
    int rc = seconds ? store_telemetry_rolled_get(db, observer, seconds, &rolled, e) : 0;
    if (!rc)
        rc = store_telemetry_row_each(db, observer, seconds, q->from, q->to, read_row, &r, e);
    if (!rc && rolled < q->to) {
        rc = store_telemetry_row_each(db, observer, 0, rolled > q->from ? rolled : q->from, q->to,
                                      read_tail, &r, e);
        if (!rc)
            rc = end_tail(&r, e);
    }
    rollup_done(&r.tail);
    return rc;
}

int query_run(struct db *db, struct query *q, struct err *e)
{
    int rc = q->step == KEEPER_RAW ? raw_times(db, q, e) : regular_times(q, e);
    if (!rc)
        rc = make_values(q, e);
    for (size_t i = 0; !rc && i < q->n_series; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen = seen || id_equal(&q->series[k].observer, &q->series[i].observer);
        if (!seen)
            rc = read_observer(db, q, &q->series[i].observer, e);
    }
    return rc;
}
