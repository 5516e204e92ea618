#include "controller/store/audit.h"
#include "common/b64url.h"
#include "common/clock.h"
#include "common/hex.h"
#include "common/strbuf.h"
#include "controller/api/api.h"
#include "controller/api/page.h"
#include "controller/app.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_TEXT (2 * STORE_SHA256_LEN + 1)

static const char *const filters[] = {"actor_id", "object_id", "object_type", "outcome", "from",
                                      "to",       "order",     "format",      NULL};

/* --- the question --- */

/* One of two words; false for the first, which is the default. */
static int read_choice(const struct http_request *req, const char *name, const char *usual,
                       const char *other, bool *out, struct err *e)
{
    const char *text = http_request_query(req, name);
    *out = text && !strcmp(text, other);
    if (text && !*out && strcmp(text, usual) != 0)
        return err_set_field(e, HW_EINVAL, name, "%s or %s", usual, other);
    return 0;
}

static int read_time(const struct http_request *req, const char *name, int64_t *out, struct err *e)
{
    const char *text = http_request_query(req, name);
    if (text && (clock_parse(text, out) || *out <= 0))
        return err_set_field(e, HW_EINVAL, name, "not a time as 2030-01-31T12:00:00Z");
    return 0;
}

static int read_type(const struct http_request *req, struct store_audit_filter *f, struct err *e)
{
    const char *text = http_request_query(req, "object_type");
    if (text && (strlen(text) >= AUDIT_TYPE_MAX || !json_name_ok(text)))
        return err_set_field(e, HW_EINVAL, "object_type", "not the name of a kind, such as sites");
    f->object_type = text;
    return 0;
}

static int read_filter(const struct http_request *req, const struct page *page,
                       struct store_audit_filter *f, struct err *e)
{
    bool given;
    char *end = NULL;
    int rc = page_filter_id(req, "actor_id", &f->actor_id, &given, e);
    if (!rc)
        rc = page_filter_id(req, "object_id", &f->object_id, &given, e);
    if (!rc)
        rc = read_type(req, f, e);
    if (!rc)
        rc = read_choice(req, "outcome", "done", "refused", &f->refused, e);
    f->by_refused = http_request_query(req, "outcome") != NULL;
    if (!rc)
        rc = read_time(req, "from", &f->from, e);
    if (!rc)
        rc = read_time(req, "to", &f->to, e);
    if (!rc)
        rc = read_choice(req, "order", "newest", "oldest", &f->oldest_first, e);
    f->limit = page->store.limit;
    if (page->after)
        f->after = strtoull(page->after, &end, 10);
    if (!rc && end && (*end || !f->after || f->after > INT64_MAX))
        rc = err_set_field(e, HW_EINVAL, "cursor", "not a cursor of this list");
    return rc;
}

/* --- the answer --- */

/* The record's text with its hash as last member; what is hashed is the text without. */
static void put_text(struct strbuf *b, const struct store_audit *a)
{
    char hash[HASH_TEXT];
    size_t len = strlen(a->record);
    strbuf_printf(b, "%.*s,\"hash\":\"%s\"}", (int)(len ? len - 1 : 0), a->record,
                  hex_encode(a->hash, sizeof a->hash, hash));
}

static char *next_cursor(const struct page *page, const struct store_audit *list, size_t n)
{
    char text[24];
    if (n <= page->limit)
        return NULL;
    int len = snprintf(text, sizeof text, "%" PRIu64, list[page->limit - 1].sequence);
    return b64url_encode((const uint8_t *)text, (size_t)len);
}

static void answer_lines(const struct page *page, const struct store_audit *list, size_t n,
                         struct http_response *res)
{
    struct strbuf b = STRBUF_INIT;
    char *cursor = next_cursor(page, list, n);
    for (size_t i = 0; i < page_shown(page, n); i++) {
        put_text(&b, &list[i]);
        strbuf_puts(&b, "\n");
    }
    if (cursor)
        http_response_header(res, "Hawser-Next-Cursor", "%s", cursor);
    free(cursor);
    http_response_copy(res, 200, "application/x-ndjson", b.data ? b.data : "", b.len);
    strbuf_done(&b);
}

static void answer_json(const struct page *page, const struct store_audit *list, size_t n,
                        const struct store_audit_head *head, struct http_response *res)
{
    char hash[HASH_TEXT];
    char *cursor = next_cursor(page, list, n);
    struct json_writer w;
    page_open(&w);
    for (size_t i = 0; i < page_shown(page, n); i++) {
        struct strbuf b = STRBUF_INIT;
        put_text(&b, &list[i]);
        json_put_raw(&w, NULL, b.failed ? NULL : strdup(b.data));
        strbuf_done(&b);
    }
    json_close(&w);
    json_put_str(&w, "next_cursor", cursor);
    free(cursor);
    json_open_object(&w, "head");
    json_put_uint(&w, "sequence", head->sequence);
    json_put_str(&w, "hash", hex_encode(head->hash, sizeof head->hash, hash));
    json_close(&w);
    http_response_json(res, 200, json_finish(&w, NULL));
}

int audit_list(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    struct store_audit_filter f = {0};
    struct store_audit_head head;
    struct store_audit *list = NULL;
    struct page page;
    struct db *db;
    size_t n = 0;
    bool lines = false;
    int rc = page_read(req, filters, &page, e);
    if (!rc)
        rc = read_filter(req, &page, &f, e);
    if (!rc)
        rc = read_choice(req, "format", "json", "jsonl", &lines, e);
    if (!rc)
        rc = store_read(app->store, &db, e);
    if (!rc) {
        rc = store_audit_head(db, &head, e);
        if (!rc)
            rc = store_audit_list(db, &f, &list, &n, e);
        store_read_end(db);
    }
    if (!rc && lines)
        answer_lines(&page, list, n, res);
    else if (!rc)
        answer_json(&page, list, n, &head, res);
    store_audit_list_done(list, n);
    page_done(&page);
    return rc;
}
