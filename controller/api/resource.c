#include "controller/api/resource.h"
#include "common/secret.h"
#include "controller/api/idempotency.h"
#include "controller/api/page.h"
#include "controller/app.h"
#include "controller/audit/audit.h"
#include "controller/audit/difference.h"
#include "controller/change.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- rows --- */

static void *row_new(const struct resource *r, struct err *e)
{
    void *row = calloc(1, r->size);
    if (!row)
        err_set(e, HW_ENOMEM, "out of memory");
    return row;
}

static void row_done(const struct resource *r, void *row)
{
    if (row && r->done)
        r->done(row);
}

static void row_free(const struct resource *r, void *row)
{
    row_done(r, row);
    free(row);
}

static struct hw_id *row_id(const struct resource *r, void *row)
{
    return (struct hw_id *)((char *)row + r->id);
}

static const struct store_common *row_common(const struct resource *r, const void *row)
{
    return (const struct store_common *)((const char *)row + r->common);
}

/* --- one object as an answer --- */

/* `created`: with the resource's secret, which is NULL where it isn't to be shown again. */
static int compose(const struct resource *r, const struct resource_context *c, const void *row,
                   bool created, const char *secret, char **out, struct err *e)
{
    struct json_writer w;
    json_writer_init(&w);
    int rc = r->put(&w, c, row, e);
    if (rc) {
        json_writer_done(&w);
        return rc;
    }
    if (created && r->secret) {
        w.secret = true;
        json_put_str(&w, r->secret, secret);
    }
    *out = json_finish(&w, NULL);
    return *out ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

/* Takes the answer's body. */
static void send_answer(struct http_response *res, struct store_answer *a)
{
    if (a->location[0])
        http_response_header(res, "Location", "%s", a->location);
    if (a->body)
        http_response_header(res, "ETag", "\"%llu\"", (unsigned long long)a->revision);
    if (a->body)
        http_response_json(res, a->status, a->body);
    else
        http_response_empty(res, a->status);
    a->body = NULL;
}

/* Strong comparison (RFC 9110 section 13.1.1): a weak tag matches nothing. */
static bool tag_in(const char *list, const char *tag)
{
    size_t len = strlen(tag);
    for (const char *p = list; *p;) {
        p += strspn(p, ", \t");
        size_t item = strcspn(p, ",");
        size_t end = item;
        while (end && (p[end - 1] == ' ' || p[end - 1] == '\t'))
            end--;
        if (end == len && !memcmp(p, tag, len))
            return true;
        p += item;
    }
    return false;
}

int resource_match(const struct http_request *req, uint64_t revision, struct err *e)
{
    char tag[32];
    const char *wanted = http_request_header(req, "If-Match");
    (void)snprintf(tag, sizeof tag, "\"%llu\"", (unsigned long long)revision);
    if (!wanted || tag_in(wanted, "*") || tag_in(wanted, tag))
        return 0;
    return err_set_field(e, HW_ESTALE, "If-Match", "the object is at ETag %s by now: read it again",
                         tag);
}

/* --- reading --- */

int resource_get(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    const struct resource *r = req->route->arg;
    struct resource_context c = {.app = app};
    struct store_answer a = {.status = 200};
    struct hw_id id;
    void *row = NULL;
    int rc = http_request_param_id(req, 0, &id, e);
    if (!rc && !(row = row_new(r, e)))
        rc = HW_ENOMEM;
    if (!rc)
        rc = store_read(app->store, &c.db, e);
    if (!rc) {
        rc = r->get(c.db, &id, row, e);
        if (!rc)
            rc = compose(r, &c, row, false, NULL, &a.body, e);
        store_read_end(c.db);
    }
    if (!rc) {
        a.revision = row_common(r, row)->revision;
        send_answer(res, &a);
    }
    row_free(r, row);
    return rc;
}

static int put_items(const struct resource *r, const struct resource_context *c, char *rows,
                     size_t n, const struct page *page, struct http_response *res, struct err *e)
{
    char id[ID_TEXT_MAX];
    const char *last = NULL;
    struct json_writer w;
    int rc = 0;
    page_open(&w);
    for (size_t i = 0; i < page_shown(page, n) && !rc; i++) {
        char *row = rows + i * r->size;
        json_open_object(&w, NULL);
        rc = r->put(&w, c, row, e);
        json_close(&w);
        last = r->key == RESOURCE_BY_ID ? id_text(row_id(r, row), id) : row + r->key;
    }
    if (rc)
        json_writer_done(&w);
    else
        page_close(&w, page, n, last, res);
    return rc;
}

int resource_list(struct app *app, struct http_request *req, struct http_response *res,
                  struct err *e)
{
    static const char *const none[] = {NULL};
    const struct resource *r = req->route->arg;
    struct resource_context c = {.app = app};
    struct page page;
    void *rows = NULL;
    size_t n = 0;
    int rc = page_read(req, r->filters ? r->filters : none, &page, e);
    if (!rc)
        rc = store_read(app->store, &c.db, e);
    if (!rc) {
        rc = r->list(c.db, req, &page.store, &rows, &n, e);
        if (!rc)
            rc = put_items(r, &c, rows, n, &page, res, e);
        store_read_end(c.db);
    }
    for (size_t i = 0; i < n; i++)
        row_done(r, (char *)rows + i * r->size);
    free(rows);
    page_done(&page);
    return rc;
}

/* --- writing --- */

struct write {
    const struct resource *r;
    struct app *app;
    struct http_request *req;
    struct db *db;
    struct json_at top; /* of a body */
    void *row;
    char *secret;
    char *before; /* the object as it was, for the audit */
    int (*act)(struct db *db, void *row, struct err *e);
    struct store_answer answer, kept; /* `kept` has no secret */
};

/* The row that the path names, if the client means its present state. */
static int find_row(struct write *w, struct err *e)
{
    struct resource_context c = {.app = w->app, .db = w->db};
    struct hw_id id;
    int rc = http_request_param_id(w->req, 0, &id, e);
    if (!rc)
        rc = w->r->get(w->db, &id, w->row, e);
    rc = rc ? rc : resource_match(w->req, row_common(w->r, w->row)->revision, e);
    if (rc || w->req->within)
        return rc;
    return compose(w->r, &c, w->row, false, NULL, &w->before, e);
}

static int step_create(struct write *w, struct err *e)
{
    const struct resource *r = w->r;
    char id[ID_TEXT_MAX];
    *row_id(r, w->row) = id_new();
    if (r->defaults)
        r->defaults(w->row);
    int rc = r->read(&w->top, BODY_CREATE, w->row, e);
    if (!rc && r->author)
        rc = r->author(w->db, w->req, w->row, e);
    if (!rc && r->check)
        rc = r->check(w->db, NULL, w->row, e);
    if (!rc && r->make_secret)
        rc = r->make_secret(w->app, w->row, &w->secret, e);
    w->answer.status = 201;
    (void)snprintf(w->answer.location, sizeof w->answer.location, "%s/%s", r->path,
                   id_text(row_id(r, w->row), id));
    return rc ? rc : r->insert(w->db, w->row, e);
}

static int step_patch(struct write *w, struct err *e)
{
    const struct resource *r = w->r;
    int rc = find_row(w, e);
    if (rc)
        return rc;
    void *old = row_new(r, e);
    rc = old ? r->get(w->db, row_id(r, w->row), old, e) : HW_ENOMEM;
    if (!rc)
        rc = r->read(&w->top, BODY_PATCH, w->row, e);
    if (!rc && r->check)
        rc = r->check(w->db, old, w->row, e);
    row_free(r, old);
    w->answer.status = 200;
    return rc ? rc : r->update(w->db, w->row, e);
}

/* Into `before`, once it is known that the row goes. */
static int tell_lost(struct write *w, struct err *e)
{
    struct resource_context c = {.app = w->app, .db = w->db};
    struct json_writer out;
    json_writer_init(&out);
    int rc = w->r->put(&out, &c, w->row, e);
    rc = rc ? rc : w->r->lost(&out, w->db, w->row, e);
    if (rc) {
        json_writer_done(&out);
        return rc;
    }
    free(w->before);
    w->before = json_finish(&out, NULL);
    return w->before ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

static int step_delete(struct write *w, struct err *e)
{
    int rc = find_row(w, e);
    if (!rc && w->r->lost && !w->req->within)
        rc = tell_lost(w, e);
    w->answer.status = 204;
    return rc ? rc : w->r->remove(w->db, w->row, e);
}

static int step_act(struct write *w, struct err *e)
{
    int rc = find_row(w, e);
    w->answer.status = 200;
    return rc ? rc : w->act(w->db, w->row, e);
}

/* The object as it stands now, the plan's share in it included. */
static int write_answer(struct write *w, struct err *e)
{
    const struct resource *r = w->r;
    struct resource_context c = {.app = w->app, .db = w->db};
    struct hw_id id = *row_id(r, w->row);
    bool created = w->answer.status == 201;
    if (w->answer.status == 204)
        return 0;
    row_done(r, w->row);
    memset(w->row, 0, r->size);
    int rc = r->get(w->db, &id, w->row, e);
    if (!rc)
        rc = compose(r, &c, w->row, created, w->secret, &w->answer.body, e);
    w->answer.revision = row_common(r, w->row)->revision;
    w->kept = w->answer;
    w->kept.body = NULL;
    if (!rc)
        rc = compose(r, &c, w->row, created, NULL, &w->kept.body, e);
    return rc ? rc : idempotency_keep(w->db, w->req, &w->kept, e);
}

static int write_planned(struct write *w, int (*step)(struct write *, struct err *),
                         struct publish_result *result, struct err *e)
{
    int rc = step(w, e);
    if (!rc && w->r->planned)
        rc = publish_changes(w->app, w->db, PUBLISH_OPERATOR, result, e);
    return rc ? rc : write_answer(w, e);
}

/* The row still knows its id when it is gone. */
static int write_record(struct write *w, struct err *e)
{
    char *before, *after;
    int rc = audit_difference(w->before, w->kept.body, w->r->secret, &before, &after, e);
    if (rc)
        return rc;
    struct audit_change c = {.id = row_id(w->r, w->row), .before = before, .after = after};
    rc = audit_request(w->db, w->req, &c, e);
    free(before);
    free(after);
    return rc;
}

/* The transaction around one of the steps above, or the one that the request came with. */
static int write_run(struct write *w, int (*step)(struct write *, struct err *), struct err *e)
{
    struct publish_result result = {0};
    w->row = row_new(w->r, e);
    if (!w->row)
        return HW_ENOMEM;
    if (w->req->within) {
        w->db = w->req->within;
        int tried = write_planned(w, step, &result, e);
        publish_result_done(&result);
        return tried;
    }
    int rc = store_begin(w->app->store, STORE_CHANGE, &w->db, e);
    if (rc)
        return rc;
    rc = idempotency_find(w->db, w->req, &w->answer, e);
    if (rc != HW_ENOTFOUND) {
        store_rollback(w->db);
        return rc;
    }
    rc = write_planned(w, step, &result, e);
    if (!rc)
        rc = write_record(w, e);
    return change_finish(w->app, w->db, rc, &result, e);
}

static int write_whole(struct write *w, int (*step)(struct write *, struct err *),
                       struct http_response *res, struct err *e)
{
    int rc = write_run(w, step, e);
    if (!rc)
        send_answer(res, &w->answer);
    if (w->secret)
        secret_wipe(w->secret, strlen(w->secret));
    if (w->secret && w->answer.body)
        secret_wipe(w->answer.body, strlen(w->answer.body));
    free(w->secret);
    free(w->before);
    store_answer_done(&w->answer);
    store_answer_done(&w->kept);
    row_free(w->r, w->row);
    return rc;
}

static int write_body(struct app *app, struct http_request *req, struct http_response *res,
                      const char *const *members, int (*step)(struct write *, struct err *),
                      struct err *e)
{
    struct write w = {.r = req->route->arg, .app = app, .req = req};
    struct json_object *doc;
    int rc = body_object(req, members, &doc, &w.top, e);
    if (rc)
        return rc;
    rc = write_whole(&w, step, res, e);
    json_free(doc);
    return rc;
}

int resource_create(struct app *app, struct http_request *req, struct http_response *res,
                    struct err *e)
{
    const struct resource *r = req->route->arg;
    return write_body(app, req, res, r->members, step_create, e);
}

int resource_patch(struct app *app, struct http_request *req, struct http_response *res,
                   struct err *e)
{
    const struct resource *r = req->route->arg;
    return write_body(app, req, res, r->changes, step_patch, e);
}

int resource_delete(struct app *app, struct http_request *req, struct http_response *res,
                    struct err *e)
{
    const struct resource *r = req->route->arg;
    struct write w = {.r = r, .app = app, .req = req};
    struct hw_id id;
    int rc = http_request_param_id(req, 0, &id, e);
    if (!rc)
        rc = write_whole(&w, step_delete, res, e);
    if (!rc && r->removed && !req->within)
        r->removed(app, &id);
    return rc;
}

int resource_act(struct app *app, struct http_request *req, struct http_response *res,
                 int (*act)(struct db *db, void *row, struct err *e), struct err *e)
{
    struct write w = {.r = req->route->arg, .app = app, .req = req, .act = act};
    int rc = body_none(req, e);
    return rc ? rc : write_whole(&w, step_act, res, e);
}
