#include "common/clock.h"
#include "common/model/enrol.h"
#include "common/secret.h"
#include "controller/api/api.h"
#include "controller/api/page.h"
#include "controller/api/resource.h"
#include "controller/app.h"
#include "controller/ca/ca.h"
#include "controller/store/gateway.h"
#include "controller/store/site.h"
#include "controller/store/token.h"
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USES_MAX       1000
#define LIFE_DEFAULT_S 86400
#define LIFE_MAX_S     (400ll * 86400)

static const char *const create_members[] = {"site_id",  "gateway_name",       "size",
                                             "max_uses", "expires_in_seconds", NULL};
static const char *const patch_members[] = {"expires_at", NULL};

/* --- JSON --- */

static int put_token(struct json_writer *w, const struct resource_context *c, const void *row,
                     struct err *e)
{
    const struct store_token *t = row;
    (void)c, (void)e;
    json_put_id(w, "id", &t->id);
    json_put_id(w, "site_id", &t->site_id);
    json_put_str(w, "gateway_name", t->gateway_name[0] ? t->gateway_name : NULL);
    json_put_str(w, "size", t->size[0] ? t->size : NULL);
    json_put_uint(w, "max_uses", t->max_uses);
    json_put_uint(w, "uses", t->uses);
    body_put_time(w, "expires_at", t->expires_at);
    body_put_common(w, &t->common);
    return 0;
}

static int read_new(const struct json_at *top, struct store_token *t, struct err *e)
{
    uint64_t uses = 1, life = LIFE_DEFAULT_S;
    int rc = json_get_id(top, "site_id", &t->site_id, e);
    if (!rc && json_has(top, "gateway_name"))
        rc = json_get_name(top, "gateway_name", t->gateway_name, e);
    if (!rc && json_has(top, "size"))
        rc = json_get_text(top, "size", t->size, sizeof t->size, e);
    if (!rc && body_wants(top, "max_uses", BODY_CREATE, false))
        rc = json_get_uint(top, "max_uses", 1, USES_MAX, &uses, e);
    if (!rc && body_wants(top, "expires_in_seconds", BODY_CREATE, false))
        rc = json_get_uint(top, "expires_in_seconds", 1, LIFE_MAX_S, &life, e);
    if (!rc && t->gateway_name[0] && uses != 1)
        rc = err_set_field(e, HW_EINVAL, "max_uses", "a token for one gateway has one use");
    t->max_uses = (unsigned)uses;
    t->expires_at = clock_wall_s() + (int64_t)life;
    return rc;
}

static int read_expiry(const struct json_at *top, struct store_token *t, struct err *e)
{
    const char *text;
    if (!body_wants(top, "expires_at", BODY_PATCH, false))
        return 0;
    int rc = json_get_str(top, "expires_at", CLOCK_TEXT_MAX, &text, e);
    if (!rc && (clock_parse(text, &t->expires_at) || t->expires_at <= 0))
        rc = err_set_field(e, HW_EINVAL, "expires_at", "not a time as 2030-01-31T12:00:00Z");
    else if (!rc && t->expires_at > clock_wall_s() + LIFE_MAX_S)
        rc = err_set_field(e, HW_EINVAL, "expires_at", "more than 400 days from now");
    return rc;
}

static int read_token(const struct json_at *top, enum body_mode mode, void *row, struct err *e)
{
    return mode == BODY_CREATE ? read_new(top, row, e) : read_expiry(top, row, e);
}

/* The site exists, and a gateway that has the name already is one of its own. */
static int check_binding(struct db *db, const void *old, void *row, struct err *e)
{
    const struct store_token *t = row;
    struct store_site s;
    struct store_gateway g = {0};
    if (old) /* only its end can change */
        return 0;
    int rc = store_site_get(db, &t->site_id, &s, e);
    if (rc == HW_ENOTFOUND)
        return err_set_field(e, HW_EINVAL, "site_id", "there is no such site");
    if (rc || !t->gateway_name[0])
        return rc;
    rc = store_gateway_by_name(db, t->gateway_name, &g, e);
    if (rc)
        return rc == HW_ENOTFOUND ? 0 : rc;
    if (!id_equal(&g.site_id, &t->site_id))
        rc = err_set_field(e, HW_ECONFLICT, "gateway_name", "gateway %s belongs to another site",
                           g.name);
    else if (g.state == GATEWAY_REVOKED)
        rc = err_set_field(e, HW_ECONFLICT, "gateway_name",
                           "gateway %s is revoked: delete it first", g.name);
    store_gateway_done(&g);
    return rc;
}

/* The token's text with its secret, whose hash goes into the row. */
static int make_token(const struct app *app, void *row, char **text, struct err *e)
{
    struct store_token *t = row;
    struct enrol_token token = {.id = t->id, .n_pins = 1};
    rand_bytes(token.secret, sizeof token.secret);
    SHA256(token.secret, sizeof token.secret, t->secret_sha256);
    for (size_t i = 0; i < app->settings.n_agent_urls; i++)
        (void)snprintf(token.urls.url[token.urls.n++], ENROL_URL_MAX, "%s",
                       app->settings.agent_urls[i]);
    ca_pin_bytes(app->ca, token.pins[0]);
    *text = enrol_token_encode(&token);
    secret_wipe(&token, sizeof token);
    return *text ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

/* --- the resource --- */

RESOURCE_STORE(token)

static int list_tokens(struct db *db, const struct http_request *req, const struct store_page *page,
                       void **rows, size_t *n, struct err *e)
{
    struct store_token *list = NULL;
    struct hw_id site_id;
    bool by_site;
    int rc = page_filter_id(req, "site_id", &site_id, &by_site, e);
    if (!rc)
        rc = store_token_list(db, page, by_site ? &site_id : NULL, &list, n, e);
    *rows = list;
    return rc;
}

static int remove_token(struct db *db, void *row, struct err *e)
{
    const struct store_token *t = row;
    return store_token_delete(db, &t->id, e);
}

static const char *const filters[] = {"site_id", NULL};

/* Tokens change no config, so there is nothing to plan. */
const struct resource enrolment_tokens = {
    .path = "/api/v1/enrolment-tokens",
    .filters = filters,
    .members = create_members,
    .changes = patch_members,
    .size = sizeof(struct store_token),
    .id = offsetof(struct store_token, id),
    .common = offsetof(struct store_token, common),
    .key = RESOURCE_BY_ID,
    .read = read_token,
    .check = check_binding,
    .put = put_token,
    .secret = "token",
    .make_secret = make_token,
    .get = get_token,
    .list = list_tokens,
    .insert = insert_token,
    .update = update_token,
    .remove = remove_token,
};
