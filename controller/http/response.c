#include "controller/http/response.h"
#include "common/secret.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One that was never sent may hold a new token as well. */
static void drop_body(struct http_response *r)
{
    secret_wipe(r->body, r->body ? r->body_len : 0);
    free(r->body);
    r->body = NULL;
}

void http_response_done(struct http_response *r)
{
    drop_body(r);
    for (size_t i = 0; i < r->n_headers; i++) { /* one may be a session's cookie */
        secret_wipe(r->headers[i].value, strlen(r->headers[i].value));
        free(r->headers[i].value);
    }
    *r = (struct http_response){0};
}

/* Drops an earlier body and keeps the headers. */
static void set(struct http_response *r, int status, const char *content_type, size_t len)
{
    drop_body(r);
    r->fixed_body = NULL;
    r->status = status;
    r->content_type = content_type;
    r->body_len = len;
}

void http_response_empty(struct http_response *r, int status)
{
    set(r, status, NULL, 0);
}

void http_response_take(struct http_response *r, int status, const char *content_type, char *body,
                        size_t len)
{
    if (!body) {
        http_response_empty(r, 0);
        return;
    }
    set(r, status, content_type, len);
    r->body = body;
}

void http_response_json(struct http_response *r, int status, char *json)
{
    http_response_take(r, status, "application/json", json, json ? strlen(json) : 0);
}

void http_response_copy(struct http_response *r, int status, const char *content_type,
                        const void *body, size_t len)
{
    char *copy = malloc(len + 1);
    if (copy) {
        memcpy(copy, body, len);
        copy[len] = '\0';
    }
    http_response_take(r, status, content_type, copy, len);
}

void http_response_static(struct http_response *r, int status, const char *content_type,
                          const void *body, size_t len)
{
    set(r, status, content_type, len);
    r->fixed_body = body;
}

void http_response_page(struct http_response *r, const char *cache)
{
    r->page = true;
    r->cache = cache;
}

/* The console loads nothing from elsewhere, runs no inline script, and is shown in nobody's frame;
 * what the API answers is never a page, whatever a browser takes it for. */
const struct http_fixed_header *http_response_fixed(const struct http_response *r)
{
    static const struct http_fixed_header page[] = {
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
         "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
        {NULL, NULL},
    };
    static const struct http_fixed_header data[] = {
        {"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
        {"X-Content-Type-Options", "nosniff"},
        {NULL, NULL},
    };
    return r->page ? page : data;
}

void http_response_header(struct http_response *r, const char *name, const char *fmt, ...)
{
    if (r->n_headers == HTTP_RESPONSE_HEADERS_MAX)
        return;
    char *value = NULL;
    va_list ap;
    va_start(ap, fmt);
    int len = vasprintf(&value, fmt, ap);
    va_end(ap);
    if (len < 0)
        return;
    for (const char *p = value; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            free(value);
            return;
        }
    }
    r->headers[r->n_headers++] = (struct http_response_header){.name = name, .value = value};
}
