#include "controller/operations/operations.h"
#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/api/operation_json.h"
#include "controller/api/page.h"
#include "controller/app.h"
#include "controller/audit/audit.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON ---- */

static void put_copy(struct json_writer *w, const char *key, const char *text)
{
    if (text)
        json_put_raw(w, key, strdup(text));
    else
        json_put_null(w, key);
}

static void put_step(struct json_writer *w, const struct store_step *s)
{
    json_open_object(w, NULL);
    json_put_str(w, "name", s->name);
    json_put_str(w, "state", operation_state_name(s->state));
    json_put_str(w, "text", s->error_text[0] ? s->error_text : s->progress);
    body_put_time(w, "started_at", s->started_at);
    body_put_time(w, "finished_at", s->finished_at);
    json_close(w);
}

/* Cancels are how a step ends, not steps of their own. */
static bool is_shown(const struct store_step *s)
{
    return strcmp(s->name, "cancel") != 0;
}

static void put_progress(struct json_writer *w, const struct store_operation *o,
                         const struct store_step *steps, size_t n)
{
    unsigned done = 0, total = 0;
    const char *text = operation_state_name(o->state);
    bool known = n > 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_shown(&steps[i]))
            continue;
        done += steps[i].done;
        total += steps[i].total;
        known = known && steps[i].total;
        if (!operation_over(o->state) && steps[i].progress[0])
            text = steps[i].progress;
    }
    json_open_object(w, "progress");
    json_put_uint(w, "done", done);
    if (known)
        json_put_uint(w, "total", total);
    else
        json_put_null(w, "total");
    json_put_str(w, "text", text);
    json_open_array(w, "steps");
    for (size_t i = 0; i < n; i++)
        if (is_shown(&steps[i]))
            put_step(w, &steps[i]);
    json_close(w);
    json_close(w);
}

int operation_json_put(struct json_writer *w, struct db *db, const struct store_operation *o,
                       bool with_result, struct err *e)
{
    struct store_step *steps = NULL;
    size_t n = 0;
    int rc = store_step_list(db, &o->id, &steps, &n, e);
    if (rc)
        return rc;
    json_put_id(w, "id", &o->id);
    json_put_str(w, "kind", o->kind);
    json_put_str(w, "state", operation_state_name(o->state));
    json_put_id(w, "gateway_id", &o->gateway_id);
    put_copy(w, "request", o->request);
    put_progress(w, o, steps, n);
    put_copy(w, "result", with_result ? o->result : NULL);
    if (o->error_code[0]) {
        json_open_object(w, "error");
        json_put_str(w, "code", o->error_code);
        json_put_str(w, "text", o->error_text);
        json_close(w);
    } else {
        json_put_null(w, "error");
    }
    body_put_time(w, "created_at", o->created_at);
    body_put_time(w, "started_at", o->started_at);
    body_put_time(w, "finished_at", o->finished_at);
    body_put_time(w, "expires_at", o->expires_at);
    store_step_free(steps, n);
    return 0;
}

int operation_json(struct db *db, const struct hw_id *id, char **out, struct err *e)
{
    struct store_operation o;
    struct json_writer w;
    int rc = store_operation_get(db, id, &o, e);
    if (rc)
        return rc;
    json_writer_init(&w);
    rc = operation_json_put(&w, db, &o, true, e);
    store_operation_done(&o);
    if (rc) {
        json_writer_done(&w);
        return rc;
    }
    *out = json_finish(&w, NULL);
    return *out ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

/* ---- handlers ---- */

static int reply(struct app *app, const struct hw_id *id, struct http_response *res, struct err *e)
{
    struct db *db;
    char *text = NULL;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = operation_json(db, id, &text, e);
    store_read_end(db);
    if (!rc)
        http_response_json(res, 200, text);
    return rc;
}

int operations_get(struct app *app, struct http_request *req, struct http_response *res,
                   struct err *e)
{
    struct hw_id id;
    int rc = http_request_param_id(req, 0, &id, e);
    return rc ? rc : reply(app, &id, res, e);
}

int operations_stop(struct app *app, struct http_request *req, struct http_response *res,
                    struct err *e)
{
    struct operations_wake wake = {.n = 0};
    struct hw_id id;
    struct db *db;
    int rc = http_request_param_id(req, 0, &id, e);
    if (!rc)
        rc = body_none(req, e);
    if (!rc)
        rc = store_begin(app->store, STORE_TELEMETRY, &db, e);
    if (rc)
        return rc;
    rc = operations_cancel(db, &id, &wake, e);
    if (!rc)
        rc = audit_request(db, req, NULL, e);
    if (rc)
        store_rollback(db);
    else
        rc = store_commit(db, e);
    if (rc)
        return rc;
    operations_tell(&wake, app->hub);
    return reply(app, &id, res, e);
}

static int list(struct db *db, const struct page *page, const struct operation_filter *filter,
                struct http_response *res, struct err *e)
{
    struct store_operation *rows = NULL;
    size_t n = 0;
    char last[24] = "";
    struct json_writer w;
    int rc = store_operation_list(db, &page->store, filter, &rows, &n, e);
    if (rc)
        return rc;
    page_open(&w);
    for (size_t i = 0; i < page_shown(page, n) && !rc; i++) {
        json_open_object(&w, NULL);
        rc = operation_json_put(&w, db, &rows[i], false, e);
        json_close(&w);
        (void)snprintf(last, sizeof last, "%" PRId64, rows[i].number);
    }
    if (rc)
        json_writer_done(&w);
    else
        page_close(&w, page, n, n ? last : NULL, res);
    store_operation_free(rows, n);
    return rc;
}

static int read_filter(const struct http_request *req, struct operation_filter *out,
                       struct hw_id *gateway_id, struct err *e)
{
    const char *state = http_request_query(req, "state");
    bool by_gateway;
    *out = (struct operation_filter){.kind = http_request_query(req, "kind"), .state = -1};
    if (out->kind) {
        unsigned k = COMMAND_TRACE_PATH;
        while (k <= COMMAND_TCP_CONNECT &&
               strcmp(command_kind_name((enum command_kind)k), out->kind) != 0)
            k++;
        if (k > COMMAND_TCP_CONNECT)
            return err_set_field(e, HW_EINVAL, "kind", "trace-path, ping or tcp-connect");
    }
    if (state && (out->state = operation_state_by_name(state)) < 0)
        return err_set_field(e, HW_EINVAL, "state", "no state of an operation");
    int rc = page_filter_id(req, "gateway_id", gateway_id, &by_gateway, e);
    out->gateway_id = by_gateway ? gateway_id : NULL;
    return rc;
}

int operations_list(struct app *app, struct http_request *req, struct http_response *res,
                    struct err *e)
{
    static const char *const filters[] = {"kind", "state", "gateway_id", NULL};
    struct operation_filter filter;
    struct hw_id gateway_id;
    struct page page;
    struct db *db;
    int rc = page_read(req, filters, &page, e);
    if (!rc)
        rc = read_filter(req, &filter, &gateway_id, e);
    if (!rc)
        rc = store_read(app->store, &db, e);
    if (!rc) {
        rc = list(db, &page, &filter, res, e);
        store_read_end(db);
    }
    page_done(&page);
    return rc;
}
