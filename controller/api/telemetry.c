#include "controller/store/telemetry.h"
#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/api/page.h"
#include "controller/app.h"
#include "controller/store/gateway.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of reports in one page: those of a gateway with many links are long. */
#define PAGE_BYTES (4u << 20)

/* The cursor of a history is the row id of the last row shown. */
static int read_before(const struct page *page, int64_t *out, struct err *e)
{
    *out = 0;
    if (!page->after)
        return 0;
    char *end;
    *out = strtoll(page->after, &end, 10);
    if (*end || *out < 1)
        return err_set_field(e, HW_EINVAL, "cursor", "not a cursor of this list");
    return 0;
}

/* {"observed_at", "report"}: the report as the agent sent it. */
static int put_row(struct json_writer *w, const struct store_history_row *row, struct err *e)
{
    struct json_object *report;
    int rc = json_parse(row->report_json, strlen(row->report_json), HW_CONFIG_BODY_MAX, &report, e);
    if (rc)
        return err_set(e, HW_EFAIL, "history row %lld holds no report", (long long)row->row_id);
    json_open_object(w, NULL);
    body_put_time(w, "observed_at", row->observed_at);
    json_put_value(w, "report", report);
    json_close(w);
    return 0;
}

/* How many rows the page shows: the last one read may be there to tell that more follow. */
static size_t shown(const struct page *page, const struct store_history_row *rows, size_t n,
                    bool *more)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(rows[i].report_json);
    *more = n > page->limit || bytes > PAGE_BYTES;
    return *more && n > 1 ? n - 1 : n;
}

static int write_rows(const struct page *page, const struct store_history_row *rows, size_t n,
                      struct http_response *res, struct err *e)
{
    char last[24] = "";
    struct json_writer w;
    bool more = false;
    const struct page cut = {.limit = (unsigned)shown(page, rows, n, &more)};
    page_open(&w);
    for (size_t i = 0; i < cut.limit; i++) {
        int rc = put_row(&w, &rows[i], e);
        if (rc) {
            json_writer_done(&w);
            return rc;
        }
        (void)snprintf(last, sizeof last, "%lld", (long long)rows[i].row_id);
    }
    page_close(&w, &cut, more ? cut.limit + 1u : cut.limit, last, res);
    return 0;
}

static int history(struct db *db, const struct hw_id *id, const struct page *page,
                   struct http_response *res, struct err *e)
{
    enum gateway_state state;
    int64_t before = 0;
    struct store_history_row *rows = NULL;
    size_t n = 0;
    int rc = store_gateway_state(db, id, &state, e);
    if (!rc)
        rc = read_before(page, &before, e);
    if (!rc)
        rc = store_history_list(db, id, before, page->store.limit, PAGE_BYTES, &rows, &n, e);
    if (rc)
        return rc;
    rc = write_rows(page, rows, n, res, e);
    store_history_free(rows, n);
    return rc;
}

int telemetry_list(struct app *app, struct http_request *req, struct http_response *res,
                   struct err *e)
{
    static const char *const filters[] = {NULL};
    struct page page = {0};
    struct hw_id id;
    struct db *db;
    int rc = http_request_param_id(req, 0, &id, e);
    if (!rc)
        rc = page_read(req, filters, &page, e);
    if (!rc)
        rc = store_read(app->store, &db, e);
    if (!rc) {
        rc = history(db, &id, &page, res, e);
        store_read_end(db);
    }
    page_done(&page);
    return rc;
}
