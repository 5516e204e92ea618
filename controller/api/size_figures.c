/* Figures that the operator has measured of a size. */
#include "common/clock.h"
#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/api/idempotency.h"
#include "controller/api/size_json.h"
#include "controller/app.h"
#include "controller/store/size.h"
#include <stdio.h>
#include <string.h>

#define RATE_MAX  1e13
#define COUNT_MAX 10000

static const char *const members[] = {
    "throughput_bps", "mtu",  "tcp_streams", "encryption", "gro",         "role",
    "spread_bps",     "runs", "method",      "note",       "measured_at", NULL};
static const char *const encryptions[] = {"aes-256-gcm", "aes-128-gcm", "none", NULL};
static const char *const roles[] = {"spoke", "transit", "peer", NULL};

static int read_count(const struct json_at *top, const char *key, unsigned *out, struct err *e)
{
    uint64_t v = 0;
    int rc = json_has(top, key) ? json_get_uint(top, key, 1, COUNT_MAX, &v, e) : 0;
    *out = (unsigned)v;
    return rc;
}

static int read_rates(const struct json_at *top, struct store_figure *f, struct err *e)
{
    int rc = json_get_double(top, "throughput_bps", 0, RATE_MAX, &f->throughput_bps, e);
    if (!rc && f->throughput_bps <= 0)
        rc = err_set_field(e, HW_EINVAL, "throughput_bps", "more than 0");
    f->value = f->throughput_bps;
    f->spread_bps = -1;
    if (!rc && json_has(top, "spread_bps"))
        rc = json_get_double(top, "spread_bps", 0, RATE_MAX, &f->spread_bps, e);
    return rc;
}

static int read_words(const struct json_at *top, struct store_figure *f, struct err *e)
{
    unsigned encryption = 0, role = 0;
    int rc = 0;
    if (json_presence(top, "encryption") != JSON_ABSENT)
        rc = json_get_enum(top, "encryption", encryptions, &encryption, e);
    if (!rc && json_has(top, "role")) {
        rc = json_get_enum(top, "role", roles, &role, e);
        if (!rc)
            (void)snprintf(f->role, sizeof f->role, "%s", roles[role]);
    }
    if (!rc)
        rc = json_get_text(top, "method", f->method, sizeof f->method, e);
    if (!rc && !f->method[0])
        rc = err_set_field(e, HW_EINVAL, "method", "how was it measured?");
    if (!rc && json_has(top, "note"))
        rc = json_get_text(top, "note", f->note, sizeof f->note, e);
    if (!rc)
        (void)snprintf(f->encryption, sizeof f->encryption, "%s", encryptions[encryption]);
    return rc;
}

static int read_time(const struct json_at *top, struct store_figure *f, struct err *e)
{
    const char *text;
    f->measured_at = clock_wall_s();
    if (json_presence(top, "measured_at") == JSON_ABSENT)
        return 0;
    int rc = json_get_str(top, "measured_at", CLOCK_TEXT_MAX, &text, e);
    if (!rc && (clock_parse(text, &f->measured_at) || f->measured_at <= 0))
        rc = err_set_field(e, HW_EINVAL, "measured_at", "not a time as 2030-01-31T12:00:00Z");
    return rc;
}

static int read_figure(const struct json_at *top, struct store_figure *f, struct err *e)
{
    uint64_t mtu = 0;
    bool gro = false;
    int rc = read_rates(top, f, e);
    if (!rc)
        rc = json_get_uint(top, "mtu", 68, 65535, &mtu, e);
    if (!rc)
        rc = read_count(top, "tcp_streams", &f->tcp_streams, e);
    if (!rc)
        rc = read_count(top, "runs", &f->runs, e);
    if (!rc && json_has(top, "gro"))
        rc = json_get_bool(top, "gro", &gro, e);
    if (!rc)
        rc = read_words(top, f, e);
    if (!rc)
        rc = read_time(top, f, e);
    f->mtu = (unsigned)mtu;
    f->gro = json_has(top, "gro") ? gro : -1;
    (void)snprintf(f->source, sizeof f->source, "own");
    (void)snprintf(f->metric, sizeof f->metric, "throughput");
    (void)snprintf(f->unit, sizeof f->unit, "bps");
    return rc;
}

static char *compose(const struct store_figure *f)
{
    struct json_writer w;
    json_writer_init(&w);
    size_json_put_figure(&w, f);
    return json_finish(&w, NULL);
}

static int insert(struct db *db, const struct http_request *req, struct store_figure *f,
                  struct store_answer *a, struct err *e)
{
    char size_id[ID_TEXT_MAX], id[ID_TEXT_MAX];
    struct store_size size;
    int rc = idempotency_find(db, req, a, e);
    if (rc != HW_ENOTFOUND)
        return rc;
    rc = store_size_get(db, &f->size_id, &size, e);
    if (!rc)
        rc = store_figure_insert(db, f, e);
    if (rc)
        return rc;
    a->status = 201;
    (void)snprintf(a->location, sizeof a->location, "/api/v1/instance-sizes/%s/figures/%s",
                   id_text(&f->size_id, size_id), id_text(&f->id, id));
    a->body = compose(f);
    return a->body ? idempotency_keep(db, req, a, e) : err_set(e, HW_ENOMEM, "out of memory");
}

int size_figures_create(struct app *app, struct http_request *req, struct http_response *res,
                        struct err *e)
{
    struct store_figure f = {.id = id_new()};
    struct store_answer a = {0};
    struct json_object *doc;
    struct json_at top;
    struct db *db;
    int rc = http_request_param_id(req, 0, &f.size_id, e);
    if (!rc)
        rc = body_object(req, members, &doc, &top, e);
    if (rc)
        return rc;
    rc = read_figure(&top, &f, e);
    json_free(doc);
    if (!rc)
        rc = store_begin(app->store, STORE_CHANGE, &db, e);
    if (rc)
        return rc;
    rc = insert(db, req, &f, &a, e);
    if (rc)
        store_rollback(db);
    else
        rc = store_commit(db, e);
    if (!rc) {
        http_response_header(res, "Location", "%s", a.location);
        http_response_json(res, a.status, a.body);
        a.body = NULL;
    }
    store_answer_done(&a);
    return rc;
}

/* The figure that the path names, of the size that it names. */
static int find(struct db *db, const struct http_request *req, struct store_figure *f,
                struct err *e)
{
    struct hw_id size_id, id;
    int rc = http_request_param_id(req, 0, &size_id, e);
    if (!rc)
        rc = http_request_param_id(req, 1, &id, e);
    if (!rc)
        rc = store_figure_get(db, &id, f, e);
    if (!rc && !id_equal(&f->size_id, &size_id))
        rc = err_set(e, HW_ENOTFOUND, "no such figure of this size");
    return rc;
}

int size_figures_get(struct app *app, struct http_request *req, struct http_response *res,
                     struct err *e)
{
    struct store_figure f;
    struct db *db;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = find(db, req, &f, e);
    store_read_end(db);
    if (!rc)
        http_response_json(res, 200, compose(&f));
    return rc;
}

int size_figures_delete(struct app *app, struct http_request *req, struct http_response *res,
                        struct err *e)
{
    struct store_figure f;
    struct db *db;
    int rc = store_begin(app->store, STORE_CHANGE, &db, e);
    if (rc)
        return rc;
    rc = find(db, req, &f, e);
    if (!rc && f.published)
        rc = err_set(e, HW_ECONFLICT, "published figures stay");
    if (!rc)
        rc = store_figure_delete(db, &f.id, e);
    if (rc)
        store_rollback(db);
    else
        rc = store_commit(db, e);
    if (!rc)
        http_response_empty(res, 204);
    return rc;
}
