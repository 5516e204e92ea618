#include "controller/api/api.h"
#include "controller/api/page.h"
#include "controller/api/resource.h"
#include "controller/api/size_json.h"
#include "controller/app.h"
#include "controller/planner/tunnel_set.h"
#include "controller/sizes/recommend.h"
#include "controller/store/size.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VCPUS_MAX    1024
#define MTU_DEFAULT  1500
#define MTU_MIN      68
#define MTU_MAX      65535
#define GBPS_MAX     10000
#define EXACT_MAX    (UINT64_C(1) << 53) /* of integers that every JSON reader keeps exactly */
#define NUMBER_CHARS "0123456789.eE+-"

static const char *const members[] = {"provider", "size", "vcpus", "memory_bytes",
                                      "nic_bps",  "note", NULL};
static const char *const providers[] = {"aws",     "azure",  "gcp",   "oci",
                                        "vsphere", "onprem", "nsx-t", NULL};

/* --- JSON --- */

static int put_size(struct json_writer *w, const struct resource_context *c, const void *row,
                    struct err *e)
{
    const struct store_size *s = row;
    struct store_figure *figures = NULL;
    size_t n = 0;
    int rc = store_figure_list(c->db, &s->id, &figures, &n, e);
    if (rc)
        return rc;
    json_put_id(w, "id", &s->id);
    json_put_str(w, "provider", s->provider);
    json_put_str(w, "size", s->size);
    size_json_put_known(w, "vcpus", s->vcpus);
    size_json_put_known(w, "memory_bytes", s->memory_bytes);
    size_json_put_known(w, "nic_bps", s->nic_bps);
    json_put_str(w, "source", s->by_operator ? "operator" : "catalogue");
    json_put_str(w, "note", s->note[0] ? s->note : NULL);
    size_json_put_known(w, "tunnels", tunnel_set_of_vcpus(s->vcpus, s->vcpus));
    size_json_put_known(w, "workers", s->vcpus < HW_WORKERS_MAX ? s->vcpus : HW_WORKERS_MAX);
    json_open_array(w, "figures");
    for (size_t i = 0; i < n; i++) {
        json_open_object(w, NULL);
        size_json_put_figure(w, &figures[i]);
        json_close(w);
    }
    json_close(w);
    body_put_common(w, &s->common);
    free(figures);
    return 0;
}

/* Printable ASCII without blanks at its ends. */
static int read_name(const struct json_at *top, struct store_size *s, struct err *e)
{
    int rc = json_get_text(top, "size", s->size, sizeof s->size, e);
    size_t len = strlen(s->size);
    bool ok = len && s->size[0] != ' ' && s->size[len - 1] != ' ';
    for (size_t i = 0; i < len; i++)
        ok = ok && s->size[i] >= ' ' && s->size[i] <= '~';
    return rc || ok
               ? rc
               : err_set_field(e, HW_EINVAL, "size", "printable ASCII, without blanks at its ends");
}

static int read_known(const struct json_at *top, const char *key, uint64_t max, uint64_t *out,
                      struct err *e)
{
    *out = 0;
    return json_has(top, key) ? json_get_uint(top, key, 1, max, out, e) : 0;
}

static int read_size(const struct json_at *top, enum body_mode mode, void *row, struct err *e)
{
    struct store_size *s = row;
    unsigned provider = 0;
    uint64_t vcpus = 0;
    (void)mode;
    int rc = json_get_enum(top, "provider", providers, &provider, e);
    if (!rc)
        (void)snprintf(s->provider, sizeof s->provider, "%s", providers[provider]);
    if (!rc)
        rc = read_name(top, s, e);
    if (!rc)
        rc = read_known(top, "vcpus", VCPUS_MAX, &vcpus, e);
    if (!rc)
        rc = read_known(top, "memory_bytes", EXACT_MAX, &s->memory_bytes, e);
    if (!rc)
        rc = read_known(top, "nic_bps", EXACT_MAX, &s->nic_bps, e);
    if (!rc && json_has(top, "note"))
        rc = json_get_text(top, "note", s->note, sizeof s->note, e);
    s->vcpus = (unsigned)vcpus;
    s->by_operator = true;
    return rc;
}

/* --- the resource --- */

static int get_size(struct db *db, const struct hw_id *id, void *row, struct err *e)
{
    return store_size_get(db, id, row, e);
}

static int insert_size(struct db *db, void *row, struct err *e)
{
    return store_size_insert(db, row, e);
}

/* *out: the provider of ?provider=, "" without it. */
static int filter_provider(const struct http_request *req, const char **out, struct err *e)
{
    const char *text = http_request_query(req, "provider");
    *out = text ? text : "";
    for (const char *const *p = providers; text && *p; p++)
        if (strcmp(text, *p) == 0)
            return 0;
    return text ? err_set_field(e, HW_EINVAL, "provider", "no such provider") : 0;
}

static int list_sizes(struct db *db, const struct http_request *req, const struct store_page *page,
                      void **rows, size_t *n, struct err *e)
{
    struct store_size *list = NULL;
    const char *provider, *size = http_request_query(req, "size");
    int rc = filter_provider(req, &provider, e);
    if (!rc && size && (!size[0] || strlen(size) > HW_NAME_MAX))
        rc = err_set_field(e, HW_EINVAL, "size", "1 to %d characters", HW_NAME_MAX);
    if (!rc)
        rc = store_size_list(db, page, provider, size ? size : "", &list, n, e);
    *rows = list;
    return rc;
}

static int remove_size(struct db *db, void *row, struct err *e)
{
    const struct store_size *s = row;
    if (!s->by_operator)
        return err_set(e, HW_ECONFLICT, "sizes of the catalogue stay");
    return store_size_delete(db, &s->id, e);
}

static const char *const filters[] = {"provider", "size", NULL};

const struct resource instance_sizes = {
    .path = "/api/v1/instance-sizes",
    .filters = filters,
    .members = members,
    .size = sizeof(struct store_size),
    .id = offsetof(struct store_size, id),
    .common = offsetof(struct store_size, common),
    .key = offsetof(struct store_size, key),
    .planned = true,
    .read = read_size,
    .put = put_size,
    .get = get_size,
    .list = list_sizes,
    .insert = insert_size,
    .remove = remove_size,
};

/* --- what size? --- */

struct question {
    double gbps;
    uint64_t mtu;
    const char *provider; /* "" any */
};

static int read_question(const struct http_request *req, struct question *q, struct err *e)
{
    for (size_t i = 0; i < req->n_query; i++) {
        const char *name = req->query[i].name;
        if (strcmp(name, "gbps") != 0 && strcmp(name, "mtu") != 0 && strcmp(name, "provider") != 0)
            return err_set_field(e, HW_EINVAL, name, "unknown query parameter");
    }
    const char *text = http_request_query(req, "gbps");
    char *end = NULL;
    if (!text || !text[0])
        return err_set_field(e, HW_EINVAL, "gbps", "how many Gbit/s?");
    q->gbps = strtod(text, &end);
    if (text[strspn(text, NUMBER_CHARS)] || *end || !isfinite(q->gbps) || q->gbps <= 0 ||
        q->gbps > GBPS_MAX)
        return err_set_field(e, HW_EINVAL, "gbps", "a number above 0, at most %d", GBPS_MAX);
    int rc = http_request_query_u64(req, "mtu", MTU_MIN, MTU_MAX, MTU_DEFAULT, &q->mtu, e);
    return rc ? rc : filter_provider(req, &q->provider, e);
}

static void put_recommended(struct json_writer *w, const struct recommended *r)
{
    json_open_object(w, NULL);
    json_put_id(w, "instance_size_id", &r->size->id);
    json_put_str(w, "provider", r->size->provider);
    json_put_str(w, "size", r->size->size);
    size_json_put_known(w, "vcpus", r->size->vcpus);
    json_put_uint(w, "gateways", r->gateways);
    json_put_double(w, "expected_bps", r->expected_bps);
    json_open_object(w, "figure");
    size_json_put_figure(w, r->figure);
    json_close(w);
    json_put_str(w, "reason", r->reason);
    json_close(w);
}

static int answer(const struct question *q, const struct sized *sizes, size_t n,
                  struct http_response *res, struct err *e)
{
    struct recommendation *r = malloc(sizeof *r);
    int rc = r ? recommend(sizes, n, q->gbps * 1e9, (unsigned)q->mtu, r, e)
               : err_set(e, HW_ENOMEM, "out of memory");
    if (!rc) {
        struct json_writer w;
        json_writer_init(&w);
        json_put_double(&w, "gbps", q->gbps);
        json_put_uint(&w, "mtu", q->mtu);
        json_put_str(&w, "provider", q->provider[0] ? q->provider : NULL);
        json_open_array(&w, "items");
        for (size_t i = 0; i < r->n; i++)
            put_recommended(&w, &r->items[i]);
        json_close(&w);
        json_put_str(&w, "explanation", r->explanation);
        http_response_json(res, 200, json_finish(&w, NULL));
    }
    free(r);
    return rc;
}

int instance_sizes_recommend(struct app *app, struct http_request *req, struct http_response *res,
                             struct err *e)
{
    struct question q;
    struct db *db;
    int rc = read_question(req, &q, e);
    if (!rc)
        rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    struct store_size *rows = NULL;
    struct sized *sizes = NULL;
    size_t n = 0;
    rc = store_size_list(db, &(struct store_page){.limit = UINT32_MAX}, q.provider, "", &rows, &n,
                         e);
    if (!rc && !(sizes = calloc(n + 1, sizeof *sizes)))
        rc = err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < n && !rc; i++) {
        struct store_figure *figures = NULL;
        rc = store_figure_list(db, &rows[i].id, &figures, &sizes[i].n_figures, e);
        sizes[i].size = &rows[i];
        sizes[i].figures = figures;
    }
    store_read_end(db);
    if (!rc)
        rc = answer(&q, sizes, n, res, e);
    for (size_t i = 0; i < n && sizes; i++)
        free((void *)sizes[i].figures);
    free(sizes);
    free(rows);
    return rc;
}
