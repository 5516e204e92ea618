#include "controller/auth/agent_cert.h"
#include "common/x509.h"
#include "controller/ca/ca.h"
#include "controller/store/denial.h"
#include "controller/store/gateway.h"
#include <string.h>

static bool passes(const struct client_cert *c, enum http_role role, int64_t now)
{
    if (c->verified)
        return true;
    return role == ROLE_AGENT_RENEW && c->expired_only && c->not_before <= now &&
           now - c->not_after < CA_RENEW_GRACE_S;
}

static const char *why_not(const struct client_cert *c, int64_t now)
{
    if (c->expired_only)
        return "the client certificate has ended";
    if (c->not_before > now)
        return "the client certificate is not valid yet by the controller's clock";
    return "the client certificate is not of this gateway CA";
}

int agent_cert_check(struct db *db, struct http_request *req, enum http_role role, struct err *e)
{
    const struct client_cert *c = &req->cert;
    const size_t uri_len = sizeof X509_URI_GATEWAY - 1;
    if (!c->present)
        return err_set(e, HW_EAUTH, "a gateway's client certificate is needed");
    if (!passes(c, role, store_now(db)))
        return err_set(e, HW_EAUTH, "%s", why_not(c, store_now(db)));
    if (strncmp(c->san_uri, X509_URI_GATEWAY, uri_len) != 0 ||
        id_parse(c->san_uri + uri_len, &req->gateway_id))
        return err_set(e, HW_EAUTH, "the client certificate is not a gateway's");
    if (store_denial_serial(db, c->serial))
        return err_set(e, HW_EFORBIDDEN, "this certificate is revoked");
    enum gateway_state state;
    int rc = store_gateway_state(db, &req->gateway_id, &state, e);
    if (rc == HW_ENOTFOUND)
        return err_set(e, HW_EFORBIDDEN, "this gateway does not exist any more");
    if (!rc && state != GATEWAY_ENROLLED)
        return err_set(e, HW_EFORBIDDEN, "this gateway is %s", gateway_state_name(state));
    req->role = role;
    return rc;
}
