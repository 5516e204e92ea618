#include "controller/http/request.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *http_method_name(enum http_method m)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET",     [HTTP_POST] = "POST",     [HTTP_PUT] = "PUT",
        [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE", [HTTP_OTHER] = "OTHER",
    };
    return names[m];
}

char *http_request_path_text(const struct http_request *r, char out[HTTP_PATH_TEXT_MAX])
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~";
    size_t used = 0;
    for (const char *p = r->path; *p && used + 3 < HTTP_PATH_TEXT_MAX; p++) {
        if (strchr(plain, *p))
            out[used++] = *p;
        else
            used += (size_t)snprintf(out + used, 4, "%%%02X", (unsigned char)*p);
    }
    out[used] = '\0';
    return out;
}

const char *http_request_query(const struct http_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_query; i++)
        if (!strcmp(r->query[i].name, name))
            return r->query[i].value;
    return NULL;
}

const char *http_request_header(const struct http_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_headers; i++)
        if (!strcasecmp(r->headers[i].name, name))
            return r->headers[i].value;
    return NULL;
}

int http_request_query_u64(const struct http_request *r, const char *name, uint64_t min,
                           uint64_t max, uint64_t fallback, uint64_t *out, struct err *e)
{
    const char *text = http_request_query(r, name);
    if (!text) {
        *out = fallback;
        return 0;
    }
    size_t len = strlen(text);
    if (len == 0 || len > 20 || strspn(text, "0123456789") != len)
        return err_set_field(e, HW_EINVAL, name, "not a decimal number");
    errno = 0;
    unsigned long long v = strtoull(text, NULL, 10);
    if (errno || v < min || v > max)
        return err_set_field(e, HW_EINVAL, name, "must be between %llu and %llu",
                             (unsigned long long)min, (unsigned long long)max);
    *out = v;
    return 0;
}

int http_request_param_id(const struct http_request *r, size_t index, struct hw_id *out,
                          struct err *e)
{
    if (index < r->n_params && !id_parse(r->params[index], out))
        return 0;
    return err_set(e, HW_ENOTFOUND, "no such object");
}

void http_request_park(struct http_request *r, uint64_t until_ns,
                       void (*on_end)(void *arg, uint64_t ticket), void *arg)
{
    r->parked = true;
    r->park_until_ns = until_ns;
    r->on_end = on_end;
    r->on_end_arg = arg;
}
