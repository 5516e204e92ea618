/* Which gateway a client certificate stands for. */
#ifndef HAWSER_CONTROLLER_AUTH_AGENT_CERT_H
#define HAWSER_CONTROLLER_AUTH_AGENT_CERT_H

#include "common/err.h"
#include "controller/http/request.h"
#include "controller/store/store.h"

/* Fills req->gateway_id and role. HW_EAUTH: no certificate, not one of a gateway, not (any more)
 * valid; HW_EFORBIDDEN: the gateway or the certificate is revoked, or the gateway is gone. `role`
 * is ROLE_AGENT or ROLE_AGENT_RENEW. */
int agent_cert_check(struct db *db, struct http_request *req, enum http_role role, struct err *e);

#endif
