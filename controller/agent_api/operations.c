#include "controller/operations/operations.h"
#include "common/model/command.h"
#include "controller/agent_api/agent_api.h"
#include "controller/app.h"
#include "controller/store/store.h"

/* POST /agent/v1/operations/{id}: {id} is the command's. */
int agent_api_operation(struct app *app, struct http_request *req, struct http_response *res,
                        struct err *e)
{
    struct command_report r;
    struct operations_wake wake = {.n = 0};
    struct hw_id id;
    struct db *db;
    int rc = http_request_param_id(req, 0, &id, e);
    if (!rc)
        rc = command_report_decode(req->body ? req->body : "", req->body_len, &r, e);
    if (rc)
        return rc;
    rc = store_begin(app->store, STORE_TELEMETRY, &db, e);
    if (!rc) {
        rc = operations_report(db, &req->gateway_id, &id, &r, &wake, e);
        if (rc)
            store_rollback(db);
        else
            rc = store_commit(db, e);
    }
    command_report_done(&r);
    if (rc)
        return rc;
    operations_tell(&wake, app->hub);
    http_response_empty(res, 204);
    return 0;
}
