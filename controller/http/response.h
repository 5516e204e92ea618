/* One HTTP response, filled by a handler and sent by http/server.c. */
#ifndef HAWSER_CONTROLLER_HTTP_RESPONSE_H
#define HAWSER_CONTROLLER_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_RESPONSE_HEADERS_MAX 12

struct http_response_header {
    const char *name; /* a literal */
    char *value;      /* owned */
};

struct http_fixed_header {
    const char *name, *value;
};

struct http_response {
    int status;               /* 0: not filled yet */
    const char *content_type; /* a literal; NULL without a body */
    char *body;               /* owned */
    size_t body_len;
    const char *fixed_body; /* instead of body: static memory */
    bool page;              /* for a browser to show; everything else is for programs */
    const char *cache;      /* Cache-Control, a literal; NULL: no-store */
    struct http_response_header headers[HTTP_RESPONSE_HEADERS_MAX];
    size_t n_headers;
};

void http_response_done(struct http_response *r);
/* 204 and the like. */
void http_response_empty(struct http_response *r, int status);
/* Takes `body` (malloc'ed, NUL-terminated behind its `len` bytes). NULL, from encoders that ran out
 * of memory, leaves the response unfilled, which the dispatcher answers. */
void http_response_take(struct http_response *r, int status, const char *content_type, char *body,
                        size_t len);
/* application/json; takes `json`. */
void http_response_json(struct http_response *r, int status, char *json);
/* Copies `body`. */
void http_response_copy(struct http_response *r, int status, const char *content_type,
                        const void *body, size_t len);
/* Static memory, not copied. */
void http_response_static(struct http_response *r, int status, const char *content_type,
                          const void *body, size_t len);
/* Marks the answer as a part of the console, which a browser may keep as `cache` (a literal) says.
 */
void http_response_page(struct http_response *r, const char *cache);
/* What every answer carries besides: names and values of what browsers must and must not do with
 * it. The list ends with a NULL name. */
const struct http_fixed_header *http_response_fixed(const struct http_response *r);
/* Adds a header; control characters in `value` drop it (no header injection). `name` is a literal.
 */
void http_response_header(struct http_response *r, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
