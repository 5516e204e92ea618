#include "controller/ca/ca.h"
#include "controller/agent_api/agent_api.h"
#include "controller/app.h"
#include <string.h>

/* GET /agent/v1/ca: a new machine compares it with the pin in its token before it trusts anything
 * else. */
int agent_api_ca(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    (void)req;
    (void)e;
    const char *pem = ca_pem(app->ca);
    http_response_copy(res, 200, "application/x-pem-file", pem, strlen(pem));
    return 0;
}
