/* Requests to the controller, and what its refusals mean for the exit code and for people. */
#ifndef HAWSER_CONTROLLER_CLI_API_H
#define HAWSER_CONTROLLER_CLI_API_H

#include "controller/cli/cli.h"

#define API_ETAG_MAX   80
#define API_CURSOR_MAX 512

struct api_reply {
    int status;
    char *text; /* body, NUL-terminated */
    size_t len;
    struct json_object *json;  /* NULL: the body is none */
    char next[API_CURSOR_MAX]; /* of the next page, where the body has no place for it */
    char etag[API_ETAG_MAX];   /* state of the object; "": none was said */
};
void api_reply_done(struct api_reply *r);

/* `body` may be NULL. Any answer of the controller but 2xx is a failure that says what it said. */
int api_call(struct cli *c, const char *method, const char *path, const char *body,
             struct api_reply *out);
/* The same, made only if the object is still at `etag`; NULL: whatever it is. */
int api_write(struct cli *c, const char *method, const char *path, const char *body,
              const char *etag, struct api_reply *out);
/* All pages of a list: *out is its first document, whose `items` are those of all. `path` may have
 * a query. */
int api_list(struct cli *c, const char *path, struct json_object **out);

/* Appends "name=value" behind '?' or '&', the value percent-encoded. */
void api_query(struct strbuf *path, const char *name, const char *value);

#endif
