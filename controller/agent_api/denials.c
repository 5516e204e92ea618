#include "controller/agent_api/agent_api.h"
#include "controller/agent_api/reply.h"
#include "controller/app.h"

/* GET /agent/v1/denials */
int agent_api_denials(struct app *app, struct http_request *req, struct http_response *res,
                      struct err *e)
{
    (void)req;
    struct db *db;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    struct store_signed doc;
    rc = store_denials_doc_get(db, &doc, e);
    store_read_end(db);
    if (rc)
        return rc == HW_ENOTFOUND ? err_set(e, rc, "nothing was ever denied") : rc;
    rc = reply_signed(res, &doc, e);
    store_signed_done(&doc);
    return rc;
}
