#include "common/ipaddr.h"
#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/api/page.h"
#include "controller/app.h"
#include "controller/change.h"
#include "controller/store/connection.h"
#include "controller/store/overlay_pools.h"
#include "controller/store/site.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const members[] = {"name",  "provider", "region",           "role", "domain",
                                      "cidrs", "takeover", "trusted_underlay", NULL};
static const char *const providers[] = {"aws", "azure", "gcp", "oci", "vsphere", "onprem", NULL};
static const char *const roles[] = {"spoke", "transit", NULL}; /* in the order of enum site_role */
static const char *const takeovers[] = {"none", "arp", "ecmp", "cloud_routes", NULL};

/* --- JSON --- */

static void put_site(struct json_writer *w, const struct store_site *s)
{
    json_put_id(w, "id", &s->id);
    json_put_str(w, "name", s->name);
    json_put_str(w, "provider", s->provider);
    json_put_str(w, "region", s->region[0] ? s->region : NULL);
    json_put_str(w, "role", roles[s->role]);
    json_put_str(w, "domain", s->domain);
    json_open_array(w, "cidrs");
    for (size_t i = 0; i < s->n_cidrs; i++)
        json_put_prefix(w, NULL, &s->cidrs[i]);
    json_close(w);
    json_put_bool(w, "trusted_underlay", s->trusted_underlay);
    json_put_str(w, "takeover", s->takeover);
    body_put_common(w, &s->common);
}

/* A prefix with its length, as hosts could use it; the default routes are kept for later. */
static int read_prefix(const struct json_at *at, struct prefix *p, struct err *e)
{
    const char *text;
    int rc = json_as_str(at, PREFIX_TEXT_MAX, &text, e);
    if (!rc && !strchr(text, '/'))
        rc = json_refuse(at, e, "a prefix needs its length, as in 10.1.0.0/16");
    if (!rc)
        rc = json_as_prefix(at, p, e);
    if (rc)
        return rc;
    if (p->len == 0)
        return json_refuse(at, e, "the default route is reserved and can't be a site's prefix yet");
    if (prefix_has_special(p))
        return json_refuse(at, e, "hosts can't have addresses of this prefix");
    return 0;
}

static int read_cidrs(const struct json_at *top, struct store_site *s, struct err *e)
{
    struct json_at array;
    size_t n;
    int rc = json_get_array(top, "cidrs", HW_SITE_CIDRS_MAX, &array, &n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at at = json_element(&array, i);
        rc = read_prefix(&at, &s->cidrs[i], e);
        for (size_t k = 0; k < i && !rc; k++) {
            char text[PREFIX_TEXT_MAX];
            if (prefix_overlaps(&s->cidrs[k], &s->cidrs[i]))
                rc = json_refuse(&at, e, "overlaps %s of the same site",
                                 prefix_text(&s->cidrs[k], text));
        }
    }
    if (!rc)
        s->n_cidrs = n;
    return rc;
}

static int read_word(const struct json_at *top, const char *key, const char *const *words,
                     char out[STORE_SHORT_TEXT], struct err *e)
{
    unsigned i;
    int rc = json_get_enum(top, key, words, &i, e);
    if (!rc)
        (void)snprintf(out, STORE_SHORT_TEXT, "%s", words[i]);
    return rc;
}

static int read_region(const struct json_at *top, struct store_site *s, struct err *e)
{
    if (json_presence(top, "region") == JSON_NULL) {
        s->region[0] = '\0';
        return 0;
    }
    int rc = json_get_text(top, "region", s->region, sizeof s->region, e);
    if (!rc && (!s->region[0] || strspn(s->region, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
                                                   "UVWXYZ0123456789._-") != strlen(s->region)))
        rc = err_set_field(e, HW_EINVAL, "region", "letters, digits, '.', '_' and '-' alone");
    return rc;
}

static int read_site(const struct json_at *top, enum body_mode mode, struct store_site *s,
                     struct err *e)
{
    int rc = 0;
    if (body_wants(top, "name", mode, true))
        rc = json_get_name(top, "name", s->name, e);
    if (!rc && body_wants(top, "provider", mode, true))
        rc = read_word(top, "provider", providers, s->provider, e);
    if (!rc && body_wants(top, "region", mode, false))
        rc = read_region(top, s, e);
    if (!rc && body_wants(top, "role", mode, true)) {
        unsigned role = 0;
        rc = json_get_enum(top, "role", roles, &role, e);
        s->role = role == SITE_TRANSIT ? SITE_TRANSIT : SITE_SPOKE;
    }
    if (!rc && body_wants(top, "domain", mode, false))
        rc = json_get_name(top, "domain", s->domain, e);
    if (!rc && body_wants(top, "cidrs", mode, false))
        rc = read_cidrs(top, s, e);
    if (!rc && body_wants(top, "takeover", mode, false))
        rc = read_word(top, "takeover", takeovers, s->takeover, e);
    if (!rc && body_wants(top, "trusted_underlay", mode, false))
        rc = json_get_bool(top, "trusted_underlay", &s->trusted_underlay, e);
    return rc;
}

static int read_body(const struct http_request *req, enum body_mode mode, struct store_site *s,
                     struct err *e)
{
    struct json_object *doc;
    struct json_at top;
    int rc = body_object(req, members, &doc, &top, e);
    if (rc)
        return rc;
    rc = read_site(&top, mode, s, e);
    json_free(doc);
    return rc;
}

/* --- rules that need the store --- */

static int check_overlap(struct db *db, const struct store_site *s, size_t i,
                         const struct prefix pools[OVERLAY_POOLS], struct err *e)
{
    char field[32], text[PREFIX_TEXT_MAX], site[HW_NAME_MAX + 1];
    struct prefix other;
    (void)snprintf(field, sizeof field, "cidrs[%zu]", i);
    for (size_t k = 0; k < OVERLAY_POOLS; k++)
        if (prefix_overlaps(&pools[k], &s->cidrs[i]))
            return err_set_field(e, HW_ECONFLICT, field, "overlaps the overlay pool %s",
                                 prefix_text(&pools[k], text));
    int rc = store_site_overlap(db, &s->cidrs[i], &s->id, &other, site, e);
    if (!rc)
        return err_set_field(e, HW_ECONFLICT, field, "overlaps %s of site %s",
                             prefix_text(&other, text), site);
    return rc == HW_ENOTFOUND ? 0 : rc;
}

static int check_overlaps(struct db *db, const struct store_site *s, struct err *e)
{
    struct prefix pools[OVERLAY_POOLS];
    int rc = store_overlay_pools(db, pools, e);
    for (size_t i = 0; i < s->n_cidrs && !rc; i++)
        rc = check_overlap(db, s, i, pools, e);
    return rc;
}

/* A connection's kind follows from its sites' roles. */
static int check_role_change(struct db *db, const struct store_site *old,
                             const struct store_site *new, struct err *e)
{
    struct store_connection *list = NULL;
    size_t n = 0;
    if (old->role == new->role)
        return 0;
    int rc = store_connection_list(db, &(struct store_page){.limit = 1}, &old->id, &list, &n, e);
    if (!rc && n)
        rc = err_set_field(e, HW_ECONFLICT, "role",
                           "the role can't change while connections use the site: delete "
                           "connection %s first",
                           list[0].name);
    free(list);
    return rc;
}

/* --- handlers --- */

static int reply(struct app *app, const struct hw_id *id, int status, struct http_response *res,
                 struct err *e)
{
    struct db *db;
    struct store_site s;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = store_site_get(db, id, &s, e);
    store_read_end(db);
    if (rc)
        return rc;
    struct json_writer w;
    json_writer_init(&w);
    put_site(&w, &s);
    http_response_json(res, status, json_finish(&w, NULL));
    return 0;
}

int sites_list(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    static const char *const filters[] = {NULL};
    struct page page;
    struct store_site *list = NULL;
    size_t n = 0;
    struct db *db;
    int rc = page_read(req, filters, &page, e);
    if (!rc)
        rc = store_read(app->store, &db, e);
    if (!rc) {
        rc = store_site_list(db, &page.store, &list, &n, e);
        store_read_end(db);
    }
    if (!rc) {
        struct json_writer w;
        page_open(&w);
        for (size_t i = 0; i < page_shown(&page, n); i++) {
            json_open_object(&w, NULL);
            put_site(&w, &list[i]);
            json_close(&w);
        }
        page_close(&w, &page, n, n ? list[page_shown(&page, n) - 1].name : NULL, res);
    }
    free(list);
    page_done(&page);
    return rc;
}

int sites_create(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    struct store_site s = {.id = id_new(), .domain = "default", .takeover = "none"};
    char text[ID_TEXT_MAX];
    struct db *db;
    int rc = read_body(req, BODY_CREATE, &s, e);
    if (!rc)
        rc = change_begin(app, &db, e);
    if (rc)
        return rc;
    rc = check_overlaps(db, &s, e);
    if (!rc)
        rc = store_site_insert(db, &s, e);
    rc = change_end(app, db, rc, e);
    if (rc)
        return rc;
    http_response_header(res, "Location", "/api/v1/sites/%s", id_text(&s.id, text));
    return reply(app, &s.id, 201, res, e);
}

int sites_get(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    struct hw_id id;
    int rc = http_request_param_id(req, 0, &id, e);
    return rc ? rc : reply(app, &id, 200, res, e);
}

static int change_site(struct db *db, const struct http_request *req, const struct hw_id *id,
                       struct err *e)
{
    struct store_site old, new;
    int rc = store_site_get(db, id, &old, e);
    if (rc)
        return rc;
    new = old;
    rc = read_body(req, BODY_PATCH, &new, e);
    if (!rc)
        rc = check_role_change(db, &old, &new, e);
    if (!rc)
        rc = check_overlaps(db, &new, e);
    return rc ? rc : store_site_update(db, &new, e);
}

int sites_patch(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    struct hw_id id;
    struct db *db;
    int rc = http_request_param_id(req, 0, &id, e);
    if (!rc)
        rc = change_begin(app, &db, e);
    if (rc)
        return rc;
    rc = change_end(app, db, change_site(db, req, &id, e), e);
    return rc ? rc : reply(app, &id, 200, res, e);
}

static int delete_site(struct db *db, const struct hw_id *id, struct err *e)
{
    char dependents[ERR_TEXT_MAX / 2];
    int rc = store_site_dependents(db, id, dependents, sizeof dependents, e);
    if (!rc && dependents[0])
        rc = err_set(e, HW_ECONFLICT, "delete these first: %s", dependents);
    return rc ? rc : store_site_delete(db, id, e);
}

int sites_delete(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    struct hw_id id;
    struct db *db;
    int rc = http_request_param_id(req, 0, &id, e);
    if (!rc)
        rc = change_begin(app, &db, e);
    if (rc)
        return rc;
    rc = change_end(app, db, delete_site(db, &id, e), e);
    if (!rc)
        http_response_empty(res, 204);
    return rc;
}
