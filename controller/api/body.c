#include "controller/api/body.h"
#include "common/clock.h"
#include "common/limits.h"

int body_object(const struct http_request *req, const char *const *members,
                struct json_object **doc, struct json_at *top, struct err *e)
{
    if (!req->body)
        return err_set(e, HW_EPROTO, "the request needs a JSON body");
    int rc = json_parse(req->body, req->body_len, HW_REQUEST_BODY_MAX, doc, e);
    if (rc)
        return rc == HW_EINVAL ? err_set(e, HW_EPROTO, "not JSON: %s", (e ? e->text : "")) : rc;
    *top = json_root(*doc);
    rc = json_members(top, members, e);
    if (rc) {
        json_free(*doc);
        *doc = NULL;
    }
    return rc;
}

int body_none(const struct http_request *req, struct err *e)
{
    static const char *const members[] = {NULL};
    struct json_object *doc = NULL;
    struct json_at top;
    int rc = req->body ? body_object(req, members, &doc, &top, e) : 0;
    json_free(doc);
    return rc;
}

bool body_wants(const struct json_at *at, const char *key, enum body_mode mode, bool required)
{
    return json_presence(at, key) != JSON_ABSENT || (mode == BODY_CREATE && required);
}

int body_text_or_null(const struct json_at *at, const char *key, char *out, size_t cap,
                      struct err *e)
{
    out[0] = '\0';
    return json_presence(at, key) == JSON_NULL ? 0 : json_get_text(at, key, out, cap, e);
}

void body_put_time(struct json_writer *w, const char *key, int64_t unix_s)
{
    char text[CLOCK_TEXT_MAX];
    json_put_str(w, key, unix_s ? clock_text(unix_s, text) : NULL);
}

void body_put_common(struct json_writer *w, const struct store_common *c)
{
    body_put_time(w, "created_at", c->created_at);
    body_put_time(w, "updated_at", c->updated_at);
    json_put_uint(w, "revision", c->revision);
}
