#include "controller/store/telemetry.h"
#include "common/clock.h"
#include "common/strbuf.h"
#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/api/status_json.h"
#include "controller/app.h"
#include "controller/store/gateway.h"
#include "controller/store/link.h"
#include "controller/telemetry/query.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBJECTS_MAX     20
#define METRICS_MAX     20
#define RANGE_DEFAULT   3600
#define RANGE_MAX       (400ll * 86400)
#define OBJECT_TEXT_MAX 80

struct asked {
    struct metric_object objects[OBJECTS_MAX];
    size_t n_objects;
    char *metrics[METRICS_MAX]; /* inside metric_text */
    size_t n_metrics;
    char *object_text, *metric_text;
    bool has_observer, csv, fixed_step;
    struct hw_id observer;
    struct query query;
};

static void asked_done(struct asked *a)
{
    free(a->object_text);
    free(a->metric_text);
    query_done(&a->query);
}

/* ---- parameters ---- */

static int known_parameters(const struct http_request *req, struct err *e)
{
    static const char *const names[] = {"object", "metric",      "range",  "from", "to",
                                        "step",   "observer_id", "format", NULL};
    for (size_t i = 0; i < req->n_query; i++) {
        bool known = false;
        for (size_t k = 0; names[k]; k++)
            known = known || strcmp(names[k], req->query[i].name) == 0;
        if (!known)
            return err_set_field(e, HW_EINVAL, req->query[i].name, "unknown query parameter");
    }
    return 0;
}

/* Cuts the parameter at its commas. */
static int split(const struct http_request *req, const char *name, size_t max, char **copy,
                 char **out, size_t *n, struct err *e)
{
    const char *text = http_request_query(req, name);
    if (!text || !*text)
        return err_set_field(e, HW_EINVAL, name, "is needed");
    *copy = strdup(text);
    if (!*copy)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (char *p = *copy; p; (*n)++) {
        if (*n == max)
            return err_set_field(e, HW_EINVAL, name, "at most %zu", max);
        out[*n] = p;
        p = strchr(p, ',');
        if (p)
            *p++ = '\0';
    }
    return 0;
}

static const char *const kinds[METRIC_KINDS] = {"gateway", "link", "tunnel", "worker"};

/* KIND/ID, or KIND/ID/NUMBER of tunnels and workers. */
static bool parse_object(char *text, struct metric_object *o)
{
    char *id = strchr(text, '/');
    if (!id)
        return false;
    *id++ = '\0';
    int kind = 0;
    while (kind < METRIC_KINDS && strcmp(kinds[kind], text) != 0)
        kind++;
    char *number = strchr(id, '/');
    bool numbered = kind >= METRIC_TUNNEL;
    if (kind == METRIC_KINDS || numbered != (number != NULL))
        return false;
    o->kind = (enum metric_kind)kind;
    if (number) {
        *number++ = '\0';
        size_t digits = strspn(number, "0123456789");
        if (digits < 1 || digits > 2 || number[digits])
            return false;
        o->number = (unsigned)strtoul(number, NULL, 10);
    }
    return id_parse(id, &o->id) == 0;
}

static int read_objects(const struct http_request *req, struct asked *a, struct err *e)
{
    char *texts[OBJECTS_MAX];
    int rc = split(req, "object", OBJECTS_MAX, &a->object_text, texts, &a->n_objects, e);
    for (size_t i = 0; !rc && i < a->n_objects; i++)
        if (!parse_object(texts[i], &a->objects[i]))
            rc = err_set_field(
                e, HW_EINVAL, "object",
                "gateway/ID, link/ID, tunnel/LINK-ID/NUMBER or worker/GATEWAY-ID/NUMBER");
    return rc;
}

static int read_metrics(const struct http_request *req, struct asked *a, struct err *e)
{
    int rc = split(req, "metric", METRICS_MAX, &a->metric_text, a->metrics, &a->n_metrics, e);
    for (size_t i = 0; !rc && i < a->n_metrics; i++)
        for (size_t k = 0; !rc && k < a->n_objects; k++)
            if (!metric_find(a->objects[k].kind, a->metrics[i]))
                rc = err_set_field(e, HW_EINVAL, "metric", "a %s has no metric \"%.40s\"",
                                   kinds[a->objects[k].kind], a->metrics[i]);
    if (!rc && a->n_metrics * a->n_objects > QUERY_SERIES_MAX)
        rc = err_set_field(e, HW_EINVAL, "step", "at most %d series", QUERY_SERIES_MAX);
    return rc;
}

/* "15m" to seconds. */
static bool parse_range(const char *text, int64_t *out)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    size_t digits = strspn(text, "0123456789");
    if (digits < 1 || digits > 5 || text[0] == '0' || strlen(text) != digits + 1)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].unit == text[digits]) {
            *out = strtol(text, NULL, 10) * units[i].seconds;
            return *out <= RANGE_MAX;
        }
    return false;
}

static int read_times(const struct http_request *req, struct query *q, int64_t now, struct err *e)
{
    const char *range = http_request_query(req, "range"), *from = http_request_query(req, "from"),
               *to = http_request_query(req, "to");
    int64_t length = RANGE_DEFAULT;
    q->to = now + 1; /* with the reports of this second */
    if (to && clock_parse(to, &q->to))
        return err_set_field(e, HW_EINVAL, "to", "a time such as 2026-11-30T21:00:00Z");
    if (range && from)
        return err_set_field(e, HW_EINVAL, "range", "not together with from");
    if (range && !parse_range(range, &length))
        return err_set_field(e, HW_EINVAL, "range", "such as 15m, 1h or 7d; at most 400d");
    q->from = q->to - length;
    if (from && clock_parse(from, &q->from))
        return err_set_field(e, HW_EINVAL, "from", "a time such as 2026-11-30T21:00:00Z");
    if (q->from < 0 || q->from >= q->to)
        return err_set_field(e, HW_EINVAL, "from", "must lie before the end");
    if (q->to - q->from > RANGE_MAX)
        return err_set_field(e, HW_EINVAL, "from", "at most 400 days");
    return 0;
}

static int read_step(const struct http_request *req, struct asked *a, int64_t now, struct err *e)
{
    const char *step = http_request_query(req, "step");
    bool detail = false;
    for (size_t i = 0; i < a->n_objects; i++)
        detail = detail || a->objects[i].kind >= METRIC_TUNNEL;
    if (!step || strcmp(step, "auto") == 0) {
        a->query.step = query_step(a->query.from, a->query.to, now, detail);
        return 0;
    }
    int i = 0;
    while (i < KEEPER_STEPS && strcmp(keeper_rules[i].name, step) != 0)
        i++;
    if (i == KEEPER_STEPS)
        return err_set_field(e, HW_EINVAL, "step", "auto, raw, 1m, 15m or 1h");
    if (detail && !keeper_rules[i].keep_detail)
        return err_set_field(e, HW_EINVAL, "step", "tunnels and workers are kept by 15m at most");
    a->query.step = (enum keeper_step)i;
    return 0;
}

static int read_parameters(const struct http_request *req, struct asked *a, int64_t now,
                           struct err *e)
{
    const char *format = http_request_query(req, "format"),
               *observer = http_request_query(req, "observer_id");
    int rc = known_parameters(req, e);
    rc = rc ? rc : read_objects(req, a, e);
    rc = rc ? rc : read_metrics(req, a, e);
    rc = rc ? rc : read_times(req, &a->query, now, e);
    rc = rc ? rc : read_step(req, a, now, e);
    if (!rc && format && strcmp(format, "csv") != 0 && strcmp(format, "json") != 0)
        rc = err_set_field(e, HW_EINVAL, "format", "json or csv");
    a->csv = format && strcmp(format, "csv") == 0;
    a->has_observer = observer != NULL;
    if (!rc && observer && id_parse(observer, &a->observer))
        rc = err_set_field(e, HW_EINVAL, "observer_id", "not an id");
    return rc;
}

/* ---- objects that exist ---- */

static int observer_of(struct db *db, const struct asked *a, const struct metric_object *o,
                       struct hw_id *out, struct err *e)
{
    enum gateway_state state;
    struct store_link l;
    if (o->kind == METRIC_GATEWAY || o->kind == METRIC_WORKER) {
        *out = o->id;
        return store_gateway_state(db, &o->id, &state, e);
    }
    int rc = store_link_get(db, &o->id, &l, e);
    if (rc)
        return rc;
    *out = a->has_observer ? a->observer : l.gateway_a_id;
    if (!id_equal(out, &l.gateway_a_id) && !id_equal(out, &l.gateway_b_id))
        return err_set_field(e, HW_EINVAL, "observer_id", "is no end of this link");
    return 0;
}

static int make_series(struct db *db, struct asked *a, struct err *e)
{
    for (size_t i = 0; i < a->n_objects; i++) {
        struct hw_id observer;
        int rc = observer_of(db, a, &a->objects[i], &observer, e);
        if (rc)
            return rc;
        for (size_t k = 0; k < a->n_metrics; k++)
            a->query.series[a->query.n_series++] =
                (struct query_series){.object = a->objects[i],
                                      .metric = metric_find(a->objects[i].kind, a->metrics[k]),
                                      .observer = observer};
    }
    return 0;
}

/* Who observed, and when last. */
struct seen {
    char name[HW_NAME_MAX + 1];
    int64_t at;
};

static int find_seen(struct db *db, const struct hw_id *id, struct seen *out, struct err *e)
{
    struct store_gateway g;
    struct store_telemetry t;
    int rc = store_gateway_get(db, id, &g, e);
    if (rc)
        return rc;
    *out = (struct seen){.at = 0};
    memcpy(out->name, g.name, sizeof out->name);
    store_gateway_done(&g);
    rc = store_telemetry_last(db, id, &t, e);
    if (rc == 0) {
        out->at = t.observed_at;
        store_telemetry_done(&t);
    }
    return rc == HW_ENOTFOUND ? 0 : rc;
}

/* ---- answers ---- */

static char *object_text(const struct metric_object *o, char out[OBJECT_TEXT_MAX])
{
    char id[ID_TEXT_MAX];
    if (o->kind >= METRIC_TUNNEL)
        (void)snprintf(out, OBJECT_TEXT_MAX, "%s/%s/%u", kinds[o->kind], id_text(&o->id, id),
                       o->number);
    else
        (void)snprintf(out, OBJECT_TEXT_MAX, "%s/%s", kinds[o->kind], id_text(&o->id, id));
    return out;
}

/* As exact as it was stored: binary32 for gauges, 2^53 for counters. */
static void put_number(struct strbuf *b, double v, const char *unknown)
{
    if (isnan(v) || isinf(v))
        strbuf_puts(b, unknown);
    else if (v == floor(v) && v < 9e15)
        strbuf_printf(b, "%.0f", v);
    else
        strbuf_printf(b, "%.7g", v);
}

enum which { AVG, MIN, MAX };

static void put_values(struct json_writer *w, const char *key, const struct query *q,
                       const struct query_series *s, enum which which)
{
    struct strbuf b = STRBUF_INIT;
    strbuf_puts(&b, "[");
    for (size_t i = 0; i < q->n_times; i++) {
        const struct metric_value *v = &s->values[i];
        if (i)
            strbuf_puts(&b, ",");
        put_number(&b, which == AVG ? v->avg : which == MIN ? v->min : v->max, "null");
    }
    strbuf_puts(&b, "]");
    json_put_raw(w, key, strbuf_take(&b));
}

static int put_series(struct json_writer *w, struct db *db, const struct query *q,
                      const struct query_series *s, struct err *e)
{
    char text[OBJECT_TEXT_MAX];
    struct seen seen;
    int rc = find_seen(db, &s->observer, &seen, e);
    if (rc)
        return rc;
    json_open_object(w, NULL);
    json_put_str(w, "object", object_text(&s->object, text));
    json_put_str(w, "metric", s->metric->name);
    json_put_str(w, "unit", s->metric->unit);
    json_put_id(w, "observer_id", &s->observer);
    json_put_str(w, "observer", seen.name);
    status_json_seen(w, seen.at, store_now(db));
    put_values(w, "avg", q, s, AVG);
    put_values(w, "min", q, s, MIN);
    put_values(w, "max", q, s, MAX);
    json_close(w);
    return 0;
}

static int answer_json(struct db *db, const struct query *q, struct http_response *res,
                       struct err *e)
{
    struct json_writer w;
    const struct keeper_rule *rule = &keeper_rules[q->step];
    int rc = 0;
    json_writer_init(&w);
    body_put_time(&w, "from", q->from);
    body_put_time(&w, "to", q->to);
    json_put_str(&w, "step", rule->name);
    if (rule->seconds)
        json_put_uint(&w, "step_seconds", rule->seconds);
    else
        json_put_null(&w, "step_seconds");
    json_open_array(&w, "offset_seconds");
    for (size_t i = 0; i < q->n_times; i++)
        json_put_int(&w, NULL, q->times[i] - q->from);
    json_close(&w);
    json_open_array(&w, "series");
    for (size_t i = 0; !rc && i < q->n_series; i++)
        rc = put_series(&w, db, q, &q->series[i], e);
    json_close(&w);
    if (rc)
        json_writer_done(&w);
    else
        http_response_json(res, 200, json_finish(&w, NULL));
    return rc;
}

/* A line a value; what nobody reported has none. */
static int answer_csv(struct db *db, const struct query *q, struct http_response *res,
                      struct err *e)
{
    struct strbuf b = STRBUF_INIT;
    strbuf_puts(&b, "time,object,observer,metric,avg,min,max\n");
    for (size_t i = 0; i < q->n_series; i++) {
        const struct query_series *s = &q->series[i];
        char text[OBJECT_TEXT_MAX], at[CLOCK_TEXT_MAX];
        struct seen seen;
        int rc = find_seen(db, &s->observer, &seen, e);
        if (rc) {
            strbuf_done(&b);
            return rc;
        }
        object_text(&s->object, text);
        for (size_t k = 0; k < q->n_times; k++) {
            if (isnan(s->values[k].avg))
                continue;
            strbuf_printf(&b, "%s,%s,%s,%s,", clock_text(q->times[k], at), text, seen.name,
                          s->metric->name);
            put_number(&b, s->values[k].avg, "");
            strbuf_puts(&b, ",");
            put_number(&b, s->values[k].min, "");
            strbuf_puts(&b, ",");
            put_number(&b, s->values[k].max, "");
            strbuf_puts(&b, "\n");
        }
    }
    size_t len = b.len;
    http_response_take(res, 200, "text/csv; charset=utf-8", strbuf_take(&b), len);
    return 0;
}

/* GET /api/v1/telemetry */
int telemetry_get(struct app *app, struct http_request *req, struct http_response *res,
                  struct err *e)
{
    struct asked *a = calloc(1, sizeof *a);
    struct db *db;
    if (!a)
        return err_set(e, HW_ENOMEM, "out of memory");
    int rc = read_parameters(req, a, clock_wall_s(), e);
    if (!rc)
        rc = store_read(app->store, &db, e);
    if (!rc) {
        rc = make_series(db, a, e);
        rc = rc ? rc : query_run(db, &a->query, e);
        if (!rc)
            rc = a->csv ? answer_csv(db, &a->query, res, e) : answer_json(db, &a->query, res, e);
        store_read_end(db);
    }
    asked_done(a);
    free(a);
    return rc;
}
