#include "common/cleanup.h"
#include "common/log.h"
#include "common/model/enrol.h"
#include "controller/agent_api/agent_api.h"
#include "controller/app.h"
#include "controller/ca/ca.h"
#include "controller/store/gateway.h"

/*
 * POST /agent/v1/renew: another 30 days for a gateway that is known and not revoked. The role check
 * has let in certificates that ended less than 180 days ago; nothing but this may be done with one.
 */
int agent_api_renew(struct app *app, struct http_request *req, struct http_response *res,
                    struct err *e)
{
    auto_free char *csr = NULL;
    int rc = enrol_renew_request_decode(req->body ? req->body : "", req->body_len, &csr, e);
    if (rc)
        return rc;
    struct db *db;
    rc = store_begin(app->store, STORE_TELEMETRY, &db, e);
    if (rc)
        return rc;
    struct ca_issued issued = {0};
    rc = ca_issue_gateway(app->ca, csr, &req->gateway_id, store_now(db), &issued, e);
    if (!rc)
        rc = store_certificate_add(db, &req->gateway_id, issued.serial, issued.not_after, e);
    if (rc)
        store_rollback(db);
    else
        rc = store_commit(db, e);
    if (!rc) {
        char id[ID_TEXT_MAX];
        size_t len;
        char *json = enrol_renew_reply_encode(issued.pem, ca_pem(app->ca), &len);
        log_info("certificate renewed gw=%s serial=%s", id_text(&req->gateway_id, id),
                 issued.serial);
        http_response_json(res, 200, json);
    }
    ca_issued_done(&issued);
    return rc;
}
