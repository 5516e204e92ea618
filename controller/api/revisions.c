#include "common/json.h"
#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/app.h"
#include "controller/change.h"
#include "controller/push/publish.h"
#include "controller/store/store.h"

static int reply(struct app *app, struct http_response *res, struct err *e)
{
    struct db *db;
    bool held = false;
    char why[HW_TEXT_MAX + 1];
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = publish_held(db, &held, why, sizeof why, e);
    uint64_t revision = store_revision(db);
    store_read_end(db);
    if (rc)
        return rc;
    struct json_writer w;
    json_writer_init(&w);
    json_put_uint(&w, "revision", revision);
    json_put_bool(&w, "held", held);
    json_put_str(&w, "reason", held ? why : NULL);
    http_response_json(res, 200, json_finish(&w, NULL));
    return 0;
}

int revisions_get(struct app *app, struct http_request *req, struct http_response *res,
                  struct err *e)
{
    (void)req;
    return reply(app, res, e);
}

static int accept_held(struct app *app, struct err *e)
{
    struct db *db;
    bool held = false;
    int rc = store_begin(app->store, STORE_CHANGE, &db, e);
    if (rc)
        return rc;
    struct publish_result result = {0};
    rc = publish_held(db, &held, NULL, 0, e);
    if (!rc && held)
        rc = publish_accept(app, db, &result, e);
    if (!rc && !held) {
        store_rollback(db);
        return 0;
    }
    return change_finish(app, db, rc, &result, e);
}

/* What a restored store says becomes what the fleet does. Where nothing is held there is nothing to
 * do. */
int revisions_accept(struct app *app, struct http_request *req, struct http_response *res,
                     struct err *e)
{
    int rc = body_none(req, e);
    if (!rc)
        rc = accept_held(app, e);
    return rc ? rc : reply(app, res, e);
}
