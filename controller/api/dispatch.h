/* From a request to its handler: route, role check, content type, and problems for what goes wrong.
 * The two functions are http_server_config's `begin` and `handle`, with the app as argument. */
#ifndef HAWSER_CONTROLLER_API_DISPATCH_H
#define HAWSER_CONTROLLER_API_DISPATCH_H

#include "controller/http/request.h"
#include "controller/http/response.h"

void dispatch_begin(void *app, struct http_request *req, struct http_response *res,
                    size_t *body_max);
void dispatch_handle(void *app, struct http_request *req, struct http_response *res);

#endif
