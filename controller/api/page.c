#include "controller/api/page.h"
#include "common/b64url.h"
#include <stdlib.h>
#include <string.h>

#define CURSOR_MAX 256

static bool known(const char *name, const char *const *filters)
{
    if (!strcmp(name, "limit") || !strcmp(name, "cursor"))
        return true;
    for (; *filters; filters++)
        if (!strcmp(name, *filters))
            return true;
    return false;
}

static int read_cursor(const char *text, char **out, struct err *e)
{
    uint8_t *key = NULL;
    size_t len = 0;
    int rc = strlen(text) > CURSOR_MAX ? HW_EINVAL : b64url_decode(text, strlen(text), &key, &len);
    if (rc == HW_ENOMEM)
        return err_set(e, HW_ENOMEM, "out of memory");
    if (rc || len == 0 || strlen((char *)key) != len) {
        free(key);
        return err_set_field(e, HW_EINVAL, "cursor", "not a cursor of this list");
    }
    *out = (char *)key;
    return 0;
}

int page_read(const struct http_request *req, const char *const *filters, struct page *out,
              struct err *e)
{
    *out = (struct page){0};
    for (size_t i = 0; i < req->n_query; i++)
        if (!known(req->query[i].name, filters))
            return err_set_field(e, HW_EINVAL, req->query[i].name, "unknown query parameter");
    uint64_t limit;
    int rc = http_request_query_u64(req, "limit", 1, PAGE_LIMIT_MAX, PAGE_LIMIT_DEFAULT, &limit, e);
    const char *cursor = http_request_query(req, "cursor");
    if (!rc && cursor)
        rc = read_cursor(cursor, &out->after, e);
    if (rc)
        return rc;
    out->limit = (unsigned)limit;
    out->store = (struct store_page){.after = out->after, .limit = out->limit + 1};
    return 0;
}

void page_done(struct page *p)
{
    free(p->after);
    p->after = NULL;
}

int page_filter_id(const struct http_request *req, const char *name, struct hw_id *out, bool *set,
                   struct err *e)
{
    const char *text = http_request_query(req, name);
    *set = text != NULL;
    if (text && id_parse(text, out))
        return err_set_field(e, HW_EINVAL, name, "not an id");
    return 0;
}

size_t page_shown(const struct page *p, size_t n)
{
    return n > p->limit ? p->limit : n;
}

void page_open(struct json_writer *w)
{
    json_writer_init(w);
    json_open_array(w, "items");
}

void page_close(struct json_writer *w, const struct page *p, size_t n, const char *last_key,
                struct http_response *res)
{
    char *cursor = n > p->limit ? b64url_encode(last_key, strlen(last_key)) : NULL;
    json_close(w);
    json_put_str(w, "next_cursor", cursor);
    free(cursor);
    http_response_json(res, 200, json_finish(w, NULL));
}
