/*
 * Errors as application/problem+json (RFC 9457): {type, title, status, detail, field, request_id}.
 * One table maps error codes to status and type.
 */
#ifndef HAWSER_CONTROLLER_HTTP_PROBLEM_H
#define HAWSER_CONTROLLER_HTTP_PROBLEM_H

#include "common/err.h"
#include "controller/http/request.h"
#include "controller/http/response.h"

/*
 * By the table: HW_EINVAL 422, HW_EPROTO 400 (not JSON at all, broken request), HW_EAUTH 401,
 * HW_EFORBIDDEN 403, HW_ENOTFOUND 404, HW_ECONFLICT 409, HW_ESTALE 412, HW_ETOOBIG 413, HW_EAGAIN,
 * HW_ENOMEM and HW_ETIMEOUT 503, everything else 500; the text of a 500 goes to the log and not to
 * the client.
 */
void problem_from_err(const struct http_request *req, struct http_response *res,
                      const struct err *e);

/* A problem of its own kind; type is "urn:hawser:problem:" + slug. `field` may be NULL. A handler
 * that has filled the response so returns 0. */
void problem_write(const struct http_request *req, struct http_response *res, int status,
                   const char *slug, const char *title, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));

/* 429: authentications from the client's address have failed too often. */
void problem_rate_limited(const struct http_request *req, struct http_response *res);

#endif
