#include "common/secret.h"
#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/api/key_json.h"
#include "controller/api/session_json.h"
#include "controller/app.h"
#include "controller/auth/role.h"
#include "controller/auth/session.h"

static void put_session(struct json_writer *w, const struct store_web_session *s,
                        const struct store_api_key *k, const char *csrf)
{
    w->secret = true;
    json_put_str(w, "csrf_token", csrf);
    json_open_object(w, "session");
    session_json_put(w, s, k, csrf);
    json_close(w);
}

int whoami_get(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    struct store_web_session s;
    struct store_api_key k;
    char csrf[SESSION_CSRF_MAX] = "";
    struct db *db;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    if (req->by_session)
        rc = session_of(db, req, &s, &k, csrf, e);
    else
        rc = store_api_key_get(db, &req->api_key_id, &k, e);
    int64_t now = store_now(db);
    store_read_end(db);
    if (rc)
        return rc;
    struct json_writer w;
    json_writer_init(&w);
    json_put_str(&w, "by", req->by_session ? "session" : "token");
    json_put_str(&w, "role", role_name(role_of_key(&k)));
    json_put_id(&w, "key_id", &k.id);
    json_put_str(&w, "key_name", k.name);
    key_json_put_state(&w, "key_state", &k, now);
    body_put_time(&w, "key_expires_at", k.expires_at);
    json_put_str(&w, "token_prefix", k.prefix);
    if (req->by_session) {
        put_session(&w, &s, &k, csrf);
    } else {
        json_put_null(&w, "csrf_token");
        json_put_null(&w, "session");
    }
    secret_wipe(csrf, sizeof csrf);
    json_put_str(&w, "version", HAWSER_VERSION);
    http_response_json(res, 200, json_finish(&w, NULL));
    return 0;
}
