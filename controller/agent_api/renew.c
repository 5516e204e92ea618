#include "common/cleanup.h"
#include "common/log.h"
#include "common/model/enrol.h"
#include "controller/agent_api/agent_api.h"
#include "controller/app.h"
#include "controller/audit/audit.h"
#include "controller/auth/agent_cert.h"
#include "controller/ca/ca.h"
#include "controller/http/problem.h"
#include "controller/store/gateway.h"

#define DAY_S       86400
#define PER_DAY_MAX 8 /* certificates of a gateway: one is needed in ten days */

/*
 * Inside the transaction. The role check was made when the request began, its body may have come
 * much later. The limit keeps a gateway in wrong hands from gathering more serials than a denial
 * could name.
 */
static int issue(struct app *app, struct db *db, struct http_request *req, const char *csr,
                 struct ca_issued *out, bool *too_many, struct err *e)
{
    unsigned n = 0;
    int rc = agent_cert_check(db, req, ROLE_AGENT_RENEW, e);
    if (!rc)
        rc = store_certificate_count(db, &req->gateway_id, store_now(db) - DAY_S, &n, e);
    *too_many = !rc && n >= PER_DAY_MAX;
    if (rc || *too_many)
        return rc;
    rc = ca_issue_gateway(app->ca, csr, &req->gateway_id, store_now(db), out, e);
    return rc ? rc : store_certificate_add(db, &req->gateway_id, out->serial, out->not_after, e);
}

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
    bool too_many = false;
    rc = issue(app, db, req, csr, &issued, &too_many, e);
    if (!rc && !too_many)
        rc = audit_gateway(db, req, "renew", &req->gateway_id, NULL, e);
    if (rc || too_many)
        store_rollback(db);
    else
        rc = store_commit(db, e);
    if (too_many) {
        problem_write(req, res, 429, "rate-limited", "Too many certificates", NULL,
                      "this gateway was given %d certificates within a day", PER_DAY_MAX);
        http_response_header(res, "Retry-After", "%d", DAY_S);
    } else if (!rc) {
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
