/* Request bodies and what objects have in common in JSON. */
#ifndef HAWSER_CONTROLLER_API_BODY_H
#define HAWSER_CONTROLLER_API_BODY_H

#include "common/err.h"
#include "common/json.h"
#include "controller/http/request.h"
#include "controller/store/store.h"

/* The body as one object with none but these members (NULL-terminated). HW_EPROTO when it is not
 * JSON, HW_EINVAL when it is something else than that. Free *doc with json_free. */
int body_object(const struct http_request *req, const char *const *members,
                struct json_object **doc, struct json_at *top, struct err *e);

/* For what takes no values: no body, or {}. */
int body_none(const struct http_request *req, struct err *e);

/* How a body is applied to an object. */
enum body_mode {
    BODY_CREATE, /* absent members take their defaults; some must be there */
    BODY_PATCH,  /* absent members stay as they are (RFC 7396) */
};

/* Must this member be read? Absent ones are: of a creation and `required` (the reader then says
 * so). */
bool body_wants(const struct json_at *at, const char *key, enum body_mode mode, bool required);

/* Text of at most cap - 1 bytes; null is "". */
int body_text_or_null(const struct json_at *at, const char *key, char *out, size_t cap,
                      struct err *e);

/* created_at, updated_at, revision. */
void body_put_common(struct json_writer *w, const struct store_common *c);
/* RFC 3339, or null for 0. */
void body_put_time(struct json_writer *w, const char *key, int64_t unix_s);

#endif
