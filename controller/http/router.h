/* The route table's shape and its look-up. The table itself is api/routes.c. */
#ifndef HAWSER_CONTROLLER_HTTP_ROUTER_H
#define HAWSER_CONTROLLER_HTTP_ROUTER_H

#include "common/err.h"
#include "controller/http/request.h"
#include "controller/http/response.h"

struct app;

/* Returns 0 with *res filled (or the request parked), or a negative code with *e, which becomes a
 * problem. */
typedef int (*http_handler)(struct app *app, struct http_request *req, struct http_response *res,
                            struct err *e);

struct http_route {
    enum http_listener listener;
    enum http_method method;
    const char *path; /* "/api/v1/sites/{id}": a segment in braces is a parameter */
    enum http_role role;
    http_handler handler;
    size_t body_max; /* bytes; 0: the request has no body */
    const void *arg; /* what the handler works on, where one serves several paths */
};

#define ROUTER_ALLOW_MAX 64

/* Finds the row for req's listener, path and method and fills req->params. HW_ENOTFOUND: no such
 * path. HW_EFORBIDDEN: the path exists, the method does not; `allow` then holds the methods that
 * do. */
int router_match(const struct http_route *routes, size_t n, struct http_request *req,
                 const struct http_route **out, char allow[ROUTER_ALLOW_MAX]);

#endif
