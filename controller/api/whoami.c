#include "common/secret.h"
#include "controller/api/api.h"
#include "controller/api/session_json.h"
#include "controller/app.h"
#include "controller/auth/session.h"

static void put_session(struct json_writer *w, const struct store_web_session *s,
                        const struct store_api_token *t, const char *csrf)
{
    w->secret = true;
    json_put_str(w, "csrf_token", csrf);
    json_open_object(w, "session");
    session_json_put(w, s, t, csrf);
    json_close(w);
}

int whoami_get(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    struct store_web_session s;
    struct store_api_token t;
    char csrf[SESSION_CSRF_MAX] = "";
    struct db *db;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = store_api_token_get(db, &req->api_token_id, &t, e);
    if (!rc && req->by_session)
        rc = session_of(db, req, &s, csrf, e);
    store_read_end(db);
    if (rc)
        return rc;
    struct json_writer w;
    json_writer_init(&w);
    json_put_str(&w, "by", req->by_session ? "session" : "token");
    json_put_str(&w, "role", "admin");
    json_put_str(&w, "token_prefix", t.prefix);
    if (req->by_session) {
        put_session(&w, &s, &t, csrf);
    } else {
        json_put_null(&w, "csrf_token");
        json_put_null(&w, "session");
    }
    secret_wipe(csrf, sizeof csrf);
    json_put_str(&w, "version", HAWSER_VERSION);
    http_response_json(res, 200, json_finish(&w, NULL));
    return 0;
}
