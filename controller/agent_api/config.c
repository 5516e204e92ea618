#include "controller/agent_api/agent_api.h"
#include "controller/agent_api/reply.h"
#include "controller/app.h"

/* GET /agent/v1/config: the config of the gateway that the certificate names, and of no other. */
int agent_api_config(struct app *app, struct http_request *req, struct http_response *res,
                     struct err *e)
{
    struct db *db;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    struct store_signed doc;
    rc = store_config_get(db, &req->gateway_id, &doc, e);
    store_read_end(db);
    if (rc)
        return rc == HW_ENOTFOUND ? err_set(e, rc, "nothing is planned for this gateway yet") : rc;
    rc = reply_signed(res, &doc, e);
    store_signed_done(&doc);
    return rc;
}
