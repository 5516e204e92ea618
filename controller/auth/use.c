#include "controller/auth/use.h"
#include "common/clock.h"
#include "common/log.h"
#include "controller/store/api_key.h"
#include "controller/store/web_session.h"

#define NOTE_EVERY_S 60

/* A use in the future is of a clock that was ahead. */
static bool due(int64_t used_at, int64_t now)
{
    return now < used_at || now >= used_at + NOTE_EVERY_S;
}

static int note(struct store *store, const struct http_request *req, int64_t now, struct err *e)
{
    struct db *db;
    int rc = store_begin(store, STORE_TELEMETRY, &db, e);
    if (rc)
        return rc;
    rc = store_api_key_used(db, &req->api_key_id, now, e);
    if (!rc && req->by_session)
        rc = store_web_session_used(db, &req->session_id, now, e);
    if (!rc)
        return store_commit(db, e);
    store_rollback(db);
    return rc;
}

void use_note(struct store *store, const struct http_request *req)
{
    struct err e = {0};
    int64_t now = clock_wall_s();
    bool wanted =
        due(req->api_key_used_at, now) || (req->by_session && due(req->session_used_at, now));
    if (wanted && note(store, req, now, &e))
        log_warn_limited("a use is not noted: %s", e.text);
}
