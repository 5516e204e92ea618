#include "common/clock.h"
#include "common/secret.h"
#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/api/session_json.h"
#include "controller/app.h"
#include "controller/audit/audit.h"
#include "controller/audit/refusals.h"
#include "controller/auth/bearer.h"
#include "controller/auth/ratelimit.h"
#include "controller/auth/role.h"
#include "controller/auth/session.h"
#include "controller/http/problem.h"
#include "controller/store/api_key.h"

#define TOKEN_MAX 128

static const char *const members[] = {"token", NULL};

void session_json_put(struct json_writer *w, const struct store_web_session *s,
                      const struct store_api_key *k, const char *csrf)
{
    int64_t idle = s->last_used_at + SESSION_IDLE_S;
    json_put_id(w, "id", &s->id);
    json_put_str(w, "role", role_name(role_of_key(k)));
    json_put_str(w, "key_name", k->name);
    json_put_str(w, "token_prefix", k->prefix);
    json_put_str(w, "csrf_token", csrf);
    body_put_time(w, "created_at", s->created_at);
    body_put_time(w, "expires_at", s->expires_at);
    body_put_time(w, "idle_expires_at", idle < s->expires_at ? idle : s->expires_at);
}

/* Whose key is it? The body is wiped by the server. Anybody may ask, so the writer is not held
 * for it. */
static int read_token(struct app *app, const struct http_request *req, struct store_api_key *out,
                      struct err *e)
{
    struct json_object *doc;
    struct json_at top;
    struct db *db;
    const char *text;
    int rc = body_object(req, members, &doc, &top, e);
    if (rc)
        return rc;
    rc = json_get_str(&top, "token", TOKEN_MAX, &text, e);
    if (!rc)
        rc = store_read(app->store, &db, e);
    if (!rc) {
        rc = bearer_find(db, text, out, e);
        store_read_end(db);
    }
    json_free_secret(doc);
    return rc;
}

static void reply(struct http_response *res, const struct store_web_session *s,
                  const struct store_api_key *k, const uint8_t secret[SESSION_SECRET_LEN])
{
    char csrf[SESSION_CSRF_MAX];
    struct json_writer w;
    session_csrf(secret, csrf);
    json_writer_init(&w);
    w.secret = true;
    session_json_put(&w, s, k, csrf);
    secret_wipe(csrf, sizeof csrf);
    http_response_json(res, 201, json_finish(&w, NULL));
}

/* By the key that is signed in with; without the body, where it stands. */
static int audit_sign_in(struct db *db, const struct http_request *req,
                         const struct store_api_key *k, struct err *e)
{
    struct http_request by_key = *req;
    bearer_take(k, &by_key);
    return audit_request_bare(db, &by_key, e);
}

static int sign_in(struct app *app, const struct http_request *req, struct http_response *res,
                   struct err *e)
{
    uint8_t secret[SESSION_SECRET_LEN];
    struct store_web_session s;
    struct store_api_key k;
    struct db *db;
    int rc = read_token(app, req, &k, e);
    if (!rc)
        rc = store_begin(app->store, STORE_TELEMETRY, &db, e);
    if (rc)
        return rc;
    rc = store_api_key_live(db, &k.id, &k, e);
    if (rc == HW_ENOTFOUND) /* it went meanwhile */
        e->code = rc = HW_EAUTH;
    if (!rc)
        rc = session_create(db, &k, secret, &s, e);
    if (!rc)
        rc = store_api_key_used(db, &k.id, store_now(db), e);
    if (!rc)
        rc = audit_sign_in(db, req, &k, e);
    if (rc) {
        store_rollback(db);
        return rc;
    }
    rc = store_commit(db, e);
    if (!rc)
        rc = session_set_cookie(res, secret, e);
    if (!rc)
        reply(res, &s, &k, secret);
    secret_wipe(secret, sizeof secret);
    return rc;
}

int sessions_create(struct app *app, struct http_request *req, struct http_response *res,
                    struct err *e)
{
    if (!ratelimit_allows(app->auth_limit, &req->peer, clock_mono_ns())) {
        problem_rate_limited(req, res);
        return 0;
    }
    int rc = sign_in(app, req, res, e);
    if (rc == HW_EAUTH) {
        ratelimit_failed(app->auth_limit, &req->peer, clock_mono_ns());
        refusals_note(app->refusals, app->store, req, req->route, 401);
    }
    return rc;
}

int sessions_delete(struct app *app, struct http_request *req, struct http_response *res,
                    struct err *e)
{
    struct db *db;
    if (req->by_session) {
        int rc = store_begin(app->store, STORE_TELEMETRY, &db, e);
        if (rc)
            return rc;
        rc = store_web_session_delete(db, &req->session_id, e);
        if (!rc)
            rc = audit_request_bare(db, req, e);
        if (rc) {
            store_rollback(db);
            return rc;
        }
        rc = store_commit(db, e);
        if (rc)
            return rc;
    }
    http_response_empty(res, 204);
    return session_set_cookie(res, NULL, e);
}
