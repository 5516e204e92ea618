#include "controller/http/problem.h"
#include "common/json.h"
#include "common/log.h"
#include <stdarg.h>
#include <stdio.h>

struct kind {
    int code; /* enum hw_err */
    int status;
    const char *slug, *title;
};

/* The one table from error codes to HTTP; the last row is for all others. */
static const struct kind kinds[] = {
    {HW_EINVAL, 422, "invalid", "A value was refused"},
    {HW_EPROTO, 400, "malformed", "The request is malformed"},
    {HW_EAUTH, 401, "unauthenticated", "Valid credentials are needed"},
    {HW_EFORBIDDEN, 403, "forbidden", "These credentials may not do this"},
    {HW_ENOTFOUND, 404, "not-found", "There is no such thing"},
    {HW_ECONFLICT, 409, "conflict", "The present state stands against it"},
    {HW_ESTALE, 412, "stale", "It has changed in the meantime"},
    {HW_ETOOBIG, 413, "too-large", "The request is too large"},
    {HW_EAGAIN, 503, "unavailable", "Not now; try again"},
    {HW_ETIMEOUT, 503, "unavailable", "Not now; try again"},
    {HW_ENOMEM, 503, "unavailable", "Not now; try again"},
    {HW_EFAIL, 500, "internal", "The controller failed"},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static void write_problem(const struct http_request *req, struct http_response *res, int status,
                          const char *slug, const char *title, const char *field,
                          const char *detail)
{
    char type[96];
    (void)snprintf(type, sizeof type, "urn:hawser:problem:%s", slug);
    struct json_writer w;
    json_writer_init(&w);
    json_put_str(&w, "type", type);
    json_put_str(&w, "title", title);
    json_put_int(&w, "status", status);
    json_put_str(&w, "detail", detail);
    json_put_str(&w, "field", field && field[0] ? field : NULL);
    json_put_str(&w, "request_id", req->id);
    size_t len = 0;
    char *body = json_finish(&w, &len);
    http_response_take(res, status, "application/problem+json", body, len);
}

void problem_from_err(const struct http_request *req, struct http_response *res,
                      const struct err *e)
{
    size_t i = 0;
    while (i < KINDS - 1 && kinds[i].code != e->code)
        i++;
    const struct kind *k = &kinds[i];
    const char *detail = e->text;
    if (k->status == 500) {
        char path[HTTP_PATH_TEXT_MAX];
        log_error("request failed request=%s method=%s path=%s: %s", req->id,
                  http_method_name(req->method), http_request_path_text(req, path), e->text);
        detail = "the reason stands in the controller's log under this request id";
    }
    if (k->status == 401 && req->listener == HTTP_PEOPLE)
        http_response_header(res, "WWW-Authenticate", "Bearer realm=\"hawser\"");
    if (k->status == 503) {
        log_warn_limited("request refused, to be tried again request=%s: %s", req->id, e->text);
        http_response_header(res, "Retry-After", "1");
    }
    write_problem(req, res, k->status, k->slug, k->title, e->field, detail);
}

void problem_write(const struct http_request *req, struct http_response *res, int status,
                   const char *slug, const char *title, const char *field, const char *fmt, ...)
{
    char detail[ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(detail, sizeof detail, fmt, ap);
    va_end(ap);
    write_problem(req, res, status, slug, title, field, detail);
}

void problem_rate_limited(const struct http_request *req, struct http_response *res)
{
    write_problem(req, res, 429, "rate-limited", "Too many failed attempts", NULL,
                  "too many failed authentications came from this address");
    http_response_header(res, "Retry-After", "10");
}
