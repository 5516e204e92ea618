#include "controller/api/api.h"

/* Made from schema/openapi by the build. */
extern const unsigned char openapi_json[];
extern const size_t openapi_json_size;

int openapi_get(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    (void)app, (void)req, (void)e;
    http_response_static(res, 200, "application/json", openapi_json, openapi_json_size);
    return 0;
}
