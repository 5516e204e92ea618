#include "common/secret.h"
#include "controller/api/api.h"
#include "controller/api/key_json.h"
#include "controller/api/resource.h"
#include "controller/auth/bearer.h"
#include "controller/auth/role.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX     500
#define DAYS_DEFAULT 90
#define DAYS_MAX     400
#define DAY_S        86400

static const char *const create_members[] = {"name", "role", "expires_in_days", NULL};

/* --- JSON --- */

void key_json_put_state(struct json_writer *w, const char *key, const struct store_api_key *k,
                        int64_t now)
{
    static const char *const names[] = {
        [API_KEY_VALID] = "valid", [API_KEY_EXPIRING] = "expiring", [API_KEY_EXPIRED] = "expired"};
    json_put_str(w, key, names[store_api_key_state(k, now)]);
}

static int put_key(struct json_writer *w, const struct resource_context *c, const void *row,
                   struct err *e)
{
    const struct store_api_key *k = row;
    (void)e;
    json_put_id(w, "id", &k->id);
    json_put_str(w, "name", k->name);
    json_put_str(w, "role", role_name(role_of_key(k)));
    json_put_str(w, "prefix", k->prefix);
    key_json_put_state(w, "state", k, store_now(c->db));
    json_put_str(w, "created_by", k->created_by[0] ? k->created_by : NULL);
    body_put_time(w, "last_used_at", k->last_used_at);
    body_put_time(w, "expires_at", k->expires_at);
    body_put_common(w, &k->common);
    return 0;
}

/* `expires_at` is a number of seconds until check_key makes it a time. */
static int read_key(const struct json_at *top, enum body_mode mode, void *row, struct err *e)
{
    struct store_api_key *k = row;
    uint64_t days = DAYS_DEFAULT;
    unsigned role = 0;
    int rc = json_get_name(top, "name", k->name, e);
    if (!rc && !strcmp(k->name, BEARER_BOOTSTRAP))
        rc = err_set_field(e, HW_EINVAL, "name",
                           "this is what hawser-controller bootstrap calls its own");
    if (!rc)
        rc = json_get_enum(top, "role", role_names, &role, e);
    if (!rc && body_wants(top, "expires_in_days", mode, false))
        rc = json_get_uint(top, "expires_in_days", 1, DAYS_MAX, &days, e);
    k->role = (enum api_key_role)role;
    k->expires_at = (int64_t)days * DAY_S;
    return rc;
}

static int author_of_key(struct db *db, const struct http_request *req, void *row, struct err *e)
{
    struct store_api_key *k = row, by;
    int rc = store_api_key_get(db, &req->api_key_id, &by, e);
    if (!rc)
        (void)snprintf(k->created_by, sizeof k->created_by, "%s", by.name);
    return rc;
}

static int check_key(struct db *db, const void *old, void *row, struct err *e)
{
    struct store_api_key *k = row;
    unsigned n = 0;
    (void)old;
    k->expires_at += store_now(db);
    int rc = store_api_key_count(db, &n, e);
    if (!rc && n >= KEYS_MAX)
        rc = err_set(e, HW_ECONFLICT, "there are %d API keys: delete some that have ended",
                     KEYS_MAX);
    return rc;
}

static int make_key(const struct app *app, void *row, char **text, struct err *e)
{
    (void)app;
    *text = malloc(BEARER_TEXT_MAX);
    return *text ? bearer_make(row, *text, e) : err_set(e, HW_ENOMEM, "out of memory");
}

/* --- the resource --- */

static int get_key(struct db *db, const struct hw_id *id, void *row, struct err *e)
{
    return store_api_key_get(db, id, row, e);
}

static int list_keys(struct db *db, const struct http_request *req, const struct store_page *page,
                     void **rows, size_t *n, struct err *e)
{
    struct store_api_key *list = NULL;
    (void)req;
    int rc = store_api_key_list(db, page, &list, n, e);
    *rows = list;
    return rc;
}

static int insert_key(struct db *db, void *row, struct err *e)
{
    return store_api_key_insert(db, row, e);
}

/* Whoever deletes the last key that can make others has to go to the controller's machine for a
 * new one: that is not to happen by a slip. */
static int remove_key(struct db *db, void *row, struct err *e)
{
    const struct store_api_key *k = row;
    bool other = true;
    int rc = 0;
    if (k->role == API_KEY_ADMIN && store_api_key_state(k, store_now(db)) != API_KEY_EXPIRED)
        rc = store_api_key_other_admin(db, &k->id, &other, e);
    if (!rc && !other)
        rc = err_set(e, HW_ECONFLICT,
                     "%s is the last API key of role admin that has not ended: make another first",
                     k->name);
    return rc ? rc : store_api_key_delete(db, &k->id, e);
}

/* A key doesn't change: another one takes its place. */
const struct resource api_keys = {
    .path = "/api/v1/api-keys",
    .members = create_members,
    .size = sizeof(struct store_api_key),
    .id = offsetof(struct store_api_key, id),
    .common = offsetof(struct store_api_key, common),
    .key = offsetof(struct store_api_key, name),
    .read = read_key,
    .author = author_of_key,
    .check = check_key,
    .put = put_key,
    .secret = "key",
    .make_secret = make_key,
    .get = get_key,
    .list = list_keys,
    .insert = insert_key,
    .remove = remove_key,
};
