#include "controller/api/api.h"
#include "controller/api/status_json.h"
#include "controller/app.h"
#include "controller/store/gateway.h"
#include "controller/telemetry/last.h"

static void put_worker(struct json_writer *w, const struct last *last, size_t i, int64_t now)
{
    const struct report_worker *k = &last->report.workers[i];
    double handoffs = 0;
    if (i < last->row.n_workers && last->row.ms)
        handoffs = (double)last->row.workers[i].counters[WORKER_HANDOFFS] * 1000 / last->row.ms;
    json_open_object(w, NULL);
    json_put_uint(w, "worker", i);
    json_put_double(w, "busy_ratio", k->busy_ratio);
    json_put_double(w, "busy_ratio_max", k->busy_ratio_max);
    json_put_uint(w, "tunnels", k->tunnels);
    json_put_double(w, "handoffs_per_second", handoffs);
    status_json_seen(w, last->observed_at, now);
    json_close(w);
}

static int read_last(struct db *db, const struct hw_id *id, struct last *last, struct err *e)
{
    enum gateway_state state;
    int rc = store_gateway_state(db, id, &state, e);
    if (rc)
        return rc;
    rc = last_read(db, id, last, e);
    return rc == HW_ENOTFOUND ? 0 : rc;
}

/* GET /api/v1/gateways/{id}/workers */
int workers_list(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    struct last last = {.stale = true};
    struct hw_id id;
    struct db *db;
    int rc = http_request_param_id(req, 0, &id, e);
    rc = rc ? rc : store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = read_last(db, &id, &last, e);
    if (!rc) {
        struct json_writer w;
        json_writer_init(&w);
        json_open_array(&w, "items");
        for (size_t i = 0; i < last.report.n_workers; i++)
            put_worker(&w, &last, i, store_now(db));
        json_close(&w);
        json_put_null(&w, "next_cursor");
        http_response_json(res, 200, json_finish(&w, NULL));
    }
    store_read_end(db);
    last_done(&last);
    return rc;
}
