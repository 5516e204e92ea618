#include "common/clock.h"
#include "common/model/enrol.h"
#include "common/secret.h"
#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/api/page.h"
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

static void put_token(struct json_writer *w, const struct store_token *t)
{
    json_put_id(w, "id", &t->id);
    json_put_id(w, "site_id", &t->site_id);
    json_put_str(w, "gateway_name", t->gateway_name[0] ? t->gateway_name : NULL);
    json_put_str(w, "size", t->size[0] ? t->size : NULL);
    json_put_uint(w, "max_uses", t->max_uses);
    json_put_uint(w, "uses", t->uses);
    body_put_time(w, "expires_at", t->expires_at);
    body_put_common(w, &t->common);
}

/* `life` is seconds from now. */
static int read_token(const struct json_at *top, struct store_token *t, uint64_t *life,
                      struct err *e)
{
    uint64_t uses = 1;
    *life = LIFE_DEFAULT_S;
    int rc = json_get_id(top, "site_id", &t->site_id, e);
    if (!rc && json_has(top, "gateway_name"))
        rc = json_get_name(top, "gateway_name", t->gateway_name, e);
    if (!rc && json_has(top, "size"))
        rc = json_get_text(top, "size", t->size, sizeof t->size, e);
    if (!rc && body_wants(top, "max_uses", BODY_CREATE, false))
        rc = json_get_uint(top, "max_uses", 1, USES_MAX, &uses, e);
    if (!rc && body_wants(top, "expires_in_seconds", BODY_CREATE, false))
        rc = json_get_uint(top, "expires_in_seconds", 1, LIFE_MAX_S, life, e);
    if (!rc && t->gateway_name[0] && uses != 1)
        rc = err_set_field(e, HW_EINVAL, "max_uses", "a token for one gateway has one use");
    t->max_uses = (unsigned)uses;
    return rc;
}

static int read_body(const struct http_request *req, struct store_token *t, uint64_t *life,
                     struct err *e)
{
    struct json_object *doc;
    struct json_at top;
    int rc = body_object(req, create_members, &doc, &top, e);
    if (rc)
        return rc;
    rc = read_token(&top, t, life, e);
    json_free(doc);
    return rc;
}

/* The site exists, and a gateway that has the name already is one of its own. */
static int check_binding(struct db *db, const struct store_token *t, struct err *e)
{
    struct store_site s;
    struct store_gateway g = {0};
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

/* The token's text with its secret, whose hash goes into *t. */
static char *make_text(const struct app *app, struct store_token *t)
{
    struct enrol_token token = {.id = t->id, .n_pins = 1};
    rand_bytes(token.secret, sizeof token.secret);
    SHA256(token.secret, sizeof token.secret, t->secret_sha256);
    for (size_t i = 0; i < app->settings.n_agent_urls; i++)
        (void)snprintf(token.urls.url[token.urls.n++], ENROL_URL_MAX, "%s",
                       app->settings.agent_urls[i]);
    ca_pin_bytes(app->ca, token.pins[0]);
    char *text = enrol_token_encode(&token);
    secret_wipe(&token, sizeof token);
    return text;
}

/* --- handlers --- */

/* `text` stands in the reply to the creation alone. */
static int reply(struct app *app, const struct hw_id *id, int status, const char *text,
                 struct http_response *res, struct err *e)
{
    struct db *db;
    struct store_token t;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = store_token_get(db, id, &t, e);
    store_read_end(db);
    if (rc)
        return rc;
    struct json_writer w;
    json_writer_init(&w);
    put_token(&w, &t);
    if (text) {
        w.secret = true;
        json_put_str(&w, "token", text);
    }
    http_response_json(res, status, json_finish(&w, NULL));
    return 0;
}

static int list(struct db *db, const struct page *page, const struct hw_id *site_id,
                struct http_response *res, struct err *e)
{
    struct store_token *rows = NULL;
    size_t n = 0;
    int rc = store_token_list(db, &page->store, site_id, &rows, &n, e);
    if (rc)
        return rc;
    char last[ID_TEXT_MAX];
    struct json_writer w;
    page_open(&w);
    for (size_t i = 0; i < page_shown(page, n); i++) {
        json_open_object(&w, NULL);
        put_token(&w, &rows[i]);
        json_close(&w);
        (void)id_text(&rows[i].id, last);
    }
    page_close(&w, page, n, n ? last : NULL, res);
    free(rows);
    return 0;
}

int enrolment_tokens_list(struct app *app, struct http_request *req, struct http_response *res,
                          struct err *e)
{
    static const char *const filters[] = {"site_id", NULL};
    struct page page;
    struct hw_id site_id;
    bool by_site;
    struct db *db;
    int rc = page_read(req, filters, &page, e);
    if (!rc)
        rc = page_filter_id(req, "site_id", &site_id, &by_site, e);
    if (!rc)
        rc = store_read(app->store, &db, e);
    if (!rc) {
        rc = list(db, &page, by_site ? &site_id : NULL, res, e);
        store_read_end(db);
    }
    page_done(&page);
    return rc;
}

/* Tokens change no config, so there is nothing to plan. */
static int token_end(struct db *db, int rc, struct err *e)
{
    if (!rc)
        return store_commit(db, e);
    store_rollback(db);
    return rc;
}

static int insert(struct app *app, struct store_token *t, uint64_t life, struct err *e)
{
    struct db *db;
    int rc = store_begin(app->store, STORE_CHANGE, &db, e);
    if (rc)
        return rc;
    t->expires_at = store_now(db) + (int64_t)life;
    rc = check_binding(db, t, e);
    if (!rc)
        rc = store_token_insert(db, t, e);
    return token_end(db, rc, e);
}

int enrolment_tokens_create(struct app *app, struct http_request *req, struct http_response *res,
                            struct err *e)
{
    struct store_token t = {.id = id_new()};
    uint64_t life;
    int rc = read_body(req, &t, &life, e);
    if (rc)
        return rc;
    char id[ID_TEXT_MAX], *text = make_text(app, &t);
    if (!text)
        return err_set(e, HW_ENOMEM, "out of memory");
    rc = insert(app, &t, life, e);
    if (!rc) {
        http_response_header(res, "Location", "/api/v1/enrolment-tokens/%s", id_text(&t.id, id));
        rc = reply(app, &t.id, 201, text, res, e);
    }
    secret_wipe(text, strlen(text));
    free(text);
    return rc;
}

int enrolment_tokens_get(struct app *app, struct http_request *req, struct http_response *res,
                         struct err *e)
{
    struct hw_id id;
    int rc = http_request_param_id(req, 0, &id, e);
    return rc ? rc : reply(app, &id, 200, NULL, res, e);
}

static int read_expiry(const struct http_request *req, struct store_token *t, struct err *e)
{
    const char *text;
    struct json_object *doc;
    struct json_at top;
    int rc = body_object(req, patch_members, &doc, &top, e);
    if (rc)
        return rc;
    if (body_wants(&top, "expires_at", BODY_PATCH, false)) {
        rc = json_get_str(&top, "expires_at", CLOCK_TEXT_MAX, &text, e);
        if (!rc && (clock_parse(text, &t->expires_at) || t->expires_at <= 0))
            rc = err_set_field(e, HW_EINVAL, "expires_at", "not a time as 2030-01-31T12:00:00Z");
        else if (!rc && t->expires_at > clock_wall_s() + LIFE_MAX_S)
            rc = err_set_field(e, HW_EINVAL, "expires_at", "more than 400 days from now");
    }
    json_free(doc);
    return rc;
}

int enrolment_tokens_patch(struct app *app, struct http_request *req, struct http_response *res,
                           struct err *e)
{
    struct hw_id id;
    struct store_token t;
    struct db *db;
    int rc = http_request_param_id(req, 0, &id, e);
    if (!rc)
        rc = store_begin(app->store, STORE_CHANGE, &db, e);
    if (rc)
        return rc;
    rc = store_token_get(db, &id, &t, e);
    if (!rc)
        rc = read_expiry(req, &t, e);
    if (!rc)
        rc = store_token_update(db, &t, e);
    rc = token_end(db, rc, e);
    return rc ? rc : reply(app, &id, 200, NULL, res, e);
}

int enrolment_tokens_delete(struct app *app, struct http_request *req, struct http_response *res,
                            struct err *e)
{
    struct hw_id id;
    struct db *db;
    int rc = http_request_param_id(req, 0, &id, e);
    if (!rc)
        rc = store_begin(app->store, STORE_CHANGE, &db, e);
    if (rc)
        return rc;
    rc = token_end(db, store_token_delete(db, &id, e), e);
    if (!rc)
        http_response_empty(res, 204);
    return rc;
}
