#include "common/esp_suite.h"
#include "controller/api/api.h"
#include "controller/api/page.h"
#include "controller/api/permission_json.h"
#include "controller/api/resource.h"
#include "controller/planner/planner.h"
#include "controller/store/connection.h"
#include "controller/store/encryption_permission.h"
#include "controller/store/link.h"
#include "controller/store/site.h"
#include <stdlib.h>
#include <string.h>

static const char *const members[] = {
    "name",    "site_a_id", "site_b_id",       "path",    "underlay_family",
    "tunnels", "suites",    "path_resiliency", "enabled", "liveness",
    NULL,
};
static const char *const liveness_members[] = {"interval_ms", "missed", NULL};
static const char *const paths[] = {"auto", "private", "public", NULL}; /* enum connection_path */

/* --- JSON --- */

static void put_uint_or_null(struct json_writer *w, const char *key, unsigned v)
{
    if (v)
        json_put_uint(w, key, v);
    else
        json_put_null(w, key);
}

static int put_connection(struct json_writer *w, const struct resource_context *context,
                          const void *row, struct err *e)
{
    const struct store_connection *c = row;
    json_put_id(w, "id", &c->id);
    json_put_str(w, "name", c->name);
    json_put_id(w, "site_a_id", &c->site_a_id);
    json_put_id(w, "site_b_id", &c->site_b_id);
    json_put_str(w, "kind", link_kind_name(c->kind));
    json_put_str(w, "path", paths[c->path]);
    put_uint_or_null(w, "underlay_family", c->underlay_family);
    put_uint_or_null(w, "tunnels", c->tunnels);
    json_open_array(w, "suites");
    for (size_t i = 0; i < c->n_suites; i++) {
        const struct esp_suite *s = esp_suite_by_id(c->suites[i]);
        json_put_str(w, NULL, s ? s->name : NULL);
    }
    json_close(w);
    json_put_bool(w, "path_resiliency", c->path_resiliency);
    int rc = permission_json_put(w, context->db, c, e);
    if (rc)
        return rc;
    json_put_bool(w, "enabled", c->enabled);
    json_open_object(w, "liveness");
    json_put_uint(w, "interval_ms", c->liveness_interval_ms);
    json_put_uint(w, "missed", c->liveness_missed);
    json_close(w);
    body_put_common(w, &c->common);
    return 0;
}

static int read_suites(const struct json_at *top, struct store_connection *c, struct err *e)
{
    struct json_at array;
    size_t n;
    int rc = json_get_array(top, "suites", CONNECTION_SUITES_MAX, &array, &n, e);
    if (!rc && n == 0)
        rc = err_set_field(e, HW_EINVAL, "suites", "at least one suite is needed");
    for (size_t i = 0; i < n && !rc; i++) {
        const char *name = NULL;
        struct json_at at = json_element(&array, i);
        rc = json_as_str(&at, HW_NAME_MAX, &name, e);
        const struct esp_suite *s = rc ? NULL : esp_suite_by_name(name);
        if (!rc && !s)
            rc = json_refuse(&at, e, "unknown suite");
        else if (!rc && memchr(c->suites, s->id, i))
            rc = json_refuse(&at, e, "this suite is in the list already");
        else if (!rc)
            c->suites[i] = s->id;
    }
    if (!rc)
        c->n_suites = n;
    return rc;
}

static int read_liveness(const struct json_at *top, enum body_mode mode, struct store_connection *c,
                         struct err *e)
{
    uint64_t interval = c->liveness_interval_ms, missed = c->liveness_missed;
    struct json_at at;
    int rc = json_get_object(top, "liveness", &at, e);
    if (!rc)
        rc = json_members(&at, liveness_members, e);
    if (!rc && body_wants(&at, "interval_ms", mode, false))
        rc = json_get_uint(&at, "interval_ms", 10, 60000, &interval, e);
    if (!rc && body_wants(&at, "missed", mode, false))
        rc = json_get_uint(&at, "missed", 1, 20, &missed, e);
    c->liveness_interval_ms = (uint32_t)interval;
    c->liveness_missed = (unsigned)missed;
    return rc;
}

/* null is 0: left to the controller. */
static int read_uint_or_null(const struct json_at *top, const char *key, unsigned max,
                             unsigned *out, struct err *e)
{
    uint64_t v = 0;
    int rc = json_presence(top, key) == JSON_NULL ? 0 : json_get_uint(top, key, 1, max, &v, e);
    if (!rc)
        *out = (unsigned)v;
    return rc;
}

static int read_policy(const struct json_at *top, enum body_mode mode, struct store_connection *c,
                       struct err *e)
{
    int rc = 0;
    if (body_wants(top, "path", mode, false)) {
        unsigned path = 0;
        rc = json_get_enum(top, "path", paths, &path, e);
        c->path = (enum connection_path)path;
    }
    if (!rc && body_wants(top, "underlay_family", mode, false)) {
        rc = read_uint_or_null(top, "underlay_family", 6, &c->underlay_family, e);
        if (!rc && c->underlay_family && c->underlay_family != 4 && c->underlay_family != 6)
            rc = err_set_field(e, HW_EINVAL, "underlay_family", "4, 6 or null");
    }
    if (!rc && body_wants(top, "tunnels", mode, false))
        rc = read_uint_or_null(top, "tunnels", HW_TUNNELS_PER_LINK_MAX, &c->tunnels, e);
    if (!rc && body_wants(top, "suites", mode, false))
        rc = read_suites(top, c, e);
    if (!rc && body_wants(top, "path_resiliency", mode, false))
        rc = json_get_bool(top, "path_resiliency", &c->path_resiliency, e);
    if (!rc && c->path_resiliency && c->tunnels == 1)
        rc = err_set_field(e, HW_EINVAL, "tunnels",
                           "path_resiliency needs at least 2 tunnels in each link");
    if (!rc && body_wants(top, "enabled", mode, false))
        rc = json_get_bool(top, "enabled", &c->enabled, e);
    if (!rc && body_wants(top, "liveness", mode, false))
        rc = read_liveness(top, mode, c, e);
    return rc;
}

static int read_connection(const struct json_at *top, enum body_mode mode, void *row, struct err *e)
{
    struct store_connection *c = row;
    int rc = 0;
    if (body_wants(top, "name", mode, true))
        rc = json_get_name(top, "name", c->name, e);
    if (!rc && body_wants(top, "site_a_id", mode, true))
        rc = json_get_id(top, "site_a_id", &c->site_a_id, e);
    if (!rc && body_wants(top, "site_b_id", mode, true))
        rc = json_get_id(top, "site_b_id", &c->site_b_id, e);
    if (!rc && id_equal(&c->site_a_id, &c->site_b_id))
        rc = err_set_field(e, HW_EINVAL, "site_b_id", "a site needs no connection with itself");
    return rc ? rc : read_policy(top, mode, c, e);
}

/* --- rules that need the store --- */

static int site_role_of(struct db *db, const struct hw_id *id, const char *field,
                        enum site_role *out, struct err *e)
{
    struct store_site s;
    int rc = store_site_get(db, id, &s, e);
    if (rc == HW_ENOTFOUND)
        return err_set_field(e, HW_EINVAL, field, "there is no such site");
    if (!rc)
        *out = s.role;
    return rc;
}

/* A link that an operator has set to one tunnel has no second path. */
static int check_resiliency(struct db *db, const struct store_connection *old,
                            const struct store_connection *new, struct err *e)
{
    struct store_link *list = NULL;
    size_t n = 0;
    if (!old || old->path_resiliency || !new->path_resiliency)
        return 0;
    int rc = store_link_list(db, &(struct store_page){.limit = UINT32_MAX}, &new->id, NULL, &list,
                             &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        char id[ID_TEXT_MAX];
        if (list[i].tunnels_override == 1)
            rc = err_set_field(e, HW_ECONFLICT, "path_resiliency",
                               "link %s has 1 for tunnels_override: at least 2 are needed",
                               id_text(&list[i].id, id));
    }
    free(list);
    return rc;
}

static int check_sites(struct db *db, struct store_connection *c, struct err *e)
{
    enum site_role a, b;
    struct store_connection other;
    int rc = site_role_of(db, &c->site_a_id, "site_a_id", &a, e);
    if (!rc)
        rc = site_role_of(db, &c->site_b_id, "site_b_id", &b, e);
    if (!rc)
        rc = planner_connection_kind(a, b, &c->kind, e);
    if (rc)
        return rc;
    rc = store_connection_between(db, &c->site_a_id, &c->site_b_id, &other, e);
    if (!rc && !id_equal(&other.id, &c->id))
        return err_set_field(e, HW_ECONFLICT, "site_b_id",
                             "connection %s joins these two sites already", other.name);
    return rc == HW_ENOTFOUND ? 0 : rc;
}

static int check_connection(struct db *db, const void *old, void *row, struct err *e)
{
    int rc = check_sites(db, row, e);
    return rc ? rc : check_resiliency(db, old, row, e);
}

/* --- the resource --- */

static void defaults(void *row)
{
    struct store_connection *c = row;
    c->suites[0] = ESP_SUITE_AES_256_GCM;
    c->n_suites = 1;
    c->enabled = true;
    c->liveness_interval_ms = 1000;
    c->liveness_missed = 3;
}

RESOURCE_STORE(connection)

static int list_connections(struct db *db, const struct http_request *req,
                            const struct store_page *page, void **rows, size_t *n, struct err *e)
{
    struct store_connection *list = NULL;
    struct hw_id site_id;
    bool by_site;
    int rc = page_filter_id(req, "site_id", &site_id, &by_site, e);
    if (!rc)
        rc = store_connection_list(db, page, by_site ? &site_id : NULL, &list, n, e);
    *rows = list;
    return rc;
}

static int remove_connection(struct db *db, void *row, struct err *e)
{
    const struct store_connection *c = row;
    int rc = store_permission_end(db, &c->id, e);
    return rc ? rc : store_connection_delete(db, &c->id, e);
}

static const char *const filters[] = {"site_id", NULL};

const struct resource connections = {
    .path = "/api/v1/connections",
    .filters = filters,
    .members = members,
    .changes = members,
    .size = sizeof(struct store_connection),
    .id = offsetof(struct store_connection, id),
    .common = offsetof(struct store_connection, common),
    .key = offsetof(struct store_connection, name),
    .planned = true,
    .defaults = defaults,
    .read = read_connection,
    .check = check_connection,
    .put = put_connection,
    .get = get_connection,
    .list = list_connections,
    .insert = insert_connection,
    .update = update_connection,
    .remove = remove_connection,
};
