#include "controller/audit/record.h"
#include "common/clock.h"
#include "common/hex.h"
#include "common/json.h"
#include "controller/auth/role.h"
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_MAX (1u << 20)
#define HASH_TEXT  (2 * STORE_SHA256_LEN + 1)

static const char *const outcomes[] = {"done", "refused", NULL};

static void put_id_or_null(struct json_writer *w, const char *key, const struct hw_id *id)
{
    if (id_is_zero(id))
        json_put_null(w, key);
    else
        json_put_id(w, key, id);
}

static void put_actor(struct json_writer *w, const struct audit_record *r)
{
    static const char *const kinds[] = {
        [AUDIT_KEY] = "key",         [AUDIT_GATEWAY] = "gateway", [AUDIT_CONTROLLER] = "controller",
        [AUDIT_COMMAND] = "command", [AUDIT_NOBODY] = "nobody",
    };
    json_open_object(w, "actor");
    json_put_str(w, "kind", kinds[r->kind]);
    put_id_or_null(w, "id", &r->actor_id);
    json_put_str(w, "name", r->actor_name);
    json_put_str(w, "role", r->kind == AUDIT_KEY ? role_name(r->role) : NULL);
    json_put_bool(w, "session", r->kind == AUDIT_KEY && r->req && r->req->by_session);
    json_close(w);
}

static void put_request(struct json_writer *w, const struct http_request *req)
{
    char path[HTTP_PATH_TEXT_MAX];
    if (!req) {
        json_put_null(w, "request");
        return;
    }
    json_open_object(w, "request");
    json_put_str(w, "id", req->id);
    json_put_str(w, "method", http_method_name(req->method));
    json_put_str(w, "path", http_request_path_text(req, path));
    json_put_ip(w, "client", &req->peer);
    json_close(w);
}

static void put_object(struct json_writer *w, const struct audit_record *r)
{
    if (!r->object_type[0]) {
        json_put_null(w, "object");
        return;
    }
    json_open_object(w, "object");
    json_put_str(w, "type", r->object_type);
    put_id_or_null(w, "id", &r->object_id);
    json_close(w);
}

static void put_hash(struct json_writer *w, const char *key, const uint8_t hash[STORE_SHA256_LEN])
{
    char text[HASH_TEXT];
    json_put_str(w, key, hex_encode(hash, STORE_SHA256_LEN, text));
}

/* `text` is JSON as a json_writer prints it. */
static void put_state(struct json_writer *w, const char *key, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    if (!text) {
        json_put_null(w, key);
    } else if (len <= AUDIT_STATE_MAX) {
        json_put_raw(w, key, strdup(text));
    } else {
        uint8_t hash[SHA256_DIGEST_LENGTH];
        SHA256((const unsigned char *)text, len, hash);
        json_open_object(w, key);
        put_hash(w, "sha256", hash);
        json_put_uint(w, "bytes", len);
        json_close(w);
    }
}

static char *compose(const struct audit_record *r, const struct store_audit *row,
                     const struct store_audit_head *previous)
{
    char time[CLOCK_TEXT_MAX];
    struct json_writer w;
    json_writer_init(&w);
    json_put_uint(&w, "sequence", row->sequence);
    json_put_str(&w, "time", clock_text(row->at, time));
    put_actor(&w, r);
    json_put_str(&w, "action", r->action);
    put_request(&w, r->req);
    json_put_str(&w, "outcome", outcomes[r->refused != 0]);
    if (r->refused)
        json_put_int(&w, "status", r->refused);
    else
        json_put_null(&w, "status");
    json_put_uint(&w, "omitted", r->omitted);
    put_object(&w, r);
    put_state(&w, "before", r->before);
    put_state(&w, "after", r->after);
    put_hash(&w, "previous_hash", previous->hash);
    return json_finish(&w, NULL);
}

int audit_record_write(struct db *db, const struct audit_record *r, struct err *e)
{
    struct store_audit_head previous;
    int rc = store_audit_head(db, &previous, e);
    if (rc)
        return rc;
    struct store_audit row = {.sequence = previous.sequence + 1,
                              .at = store_now(db),
                              .actor_id = r->actor_id,
                              .object_id = r->object_id,
                              .refused = r->refused != 0};
    (void)snprintf(row.object_type, sizeof row.object_type, "%s", r->object_type);
    row.record = compose(r, &row, &previous);
    if (!row.record)
        return err_set(e, HW_ENOMEM, "out of memory");
    SHA256((const unsigned char *)row.record, strlen(row.record), row.hash);
    rc = store_audit_append(db, &row, e);
    free(row.record);
    return rc;
}

/* --- judging --- */

static int read_id_or_none(const struct json_at *at, struct hw_id *out, struct err *e)
{
    *out = (struct hw_id){0};
    return json_has(at, "id") ? json_get_id(at, "id", out, e) : 0;
}

/* What the text says of the row's other columns, and of the record before. */
static int read_text(const struct json_at *top, struct store_audit *out,
                     uint8_t previous[STORE_SHA256_LEN], struct err *e)
{
    struct json_at actor, object;
    const char *text;
    unsigned outcome = 0;
    int rc = json_get_uint(top, "sequence", 1, INT64_MAX, &out->sequence, e);
    if (!rc)
        rc = json_get_str(top, "time", CLOCK_TEXT_MAX, &text, e);
    if (!rc && clock_parse(text, &out->at))
        rc = err_set_field(e, HW_EINVAL, "time", "not a time");
    if (!rc)
        rc = json_get_object(top, "actor", &actor, e);
    if (!rc)
        rc = read_id_or_none(&actor, &out->actor_id, e);
    if (!rc && json_has(top, "object")) {
        rc = json_get_object(top, "object", &object, e);
        if (!rc)
            rc = json_get_text(&object, "type", out->object_type, sizeof out->object_type, e);
        if (!rc)
            rc = read_id_or_none(&object, &out->object_id, e);
    }
    if (!rc)
        rc = json_get_enum(top, "outcome", outcomes, &outcome, e);
    if (!rc)
        rc = json_get_str(top, "previous_hash", HASH_TEXT, &text, e);
    if (!rc && hex_decode(text, previous, STORE_SHA256_LEN))
        rc = err_set_field(e, HW_EINVAL, "previous_hash", "not a hash");
    out->refused = outcome == 1;
    return rc;
}

static bool same_columns(const struct store_audit *a, const struct store_audit *b)
{
    return a->at == b->at && id_equal(&a->actor_id, &b->actor_id) &&
           !strcmp(a->object_type, b->object_type) && id_equal(&a->object_id, &b->object_id) &&
           a->refused == b->refused;
}

int audit_record_judge(const struct store_audit *row, const struct store_audit_head *previous,
                       struct err *e)
{
    uint8_t hash[SHA256_DIGEST_LENGTH], named[STORE_SHA256_LEN];
    struct store_audit said = {0};
    struct json_object *doc;
    struct err why = {0};
    size_t len = strlen(row->record);
    if (row->sequence != previous->sequence + 1)
        return err_set(e, HW_EFAIL, "record %llu is missing",
                       (unsigned long long)previous->sequence + 1);
    SHA256((const unsigned char *)row->record, len, hash);
    if (memcmp(hash, row->hash, sizeof hash) != 0)
        return err_set(e, HW_EFAIL, "its text is not what was hashed");
    if (json_parse(row->record, len, RECORD_MAX, &doc, &why))
        return err_set(e, HW_EFAIL, "its text is no record: %s", why.text);
    struct json_at top = json_root(doc);
    int rc = read_text(&top, &said, named, &why);
    json_free(doc);
    if (rc)
        return err_set(e, HW_EFAIL, "its text is no record: %s: %s", why.field, why.text);
    if (said.sequence != row->sequence)
        return err_set(e, HW_EFAIL, "its text is that of record %llu",
                       (unsigned long long)said.sequence);
    if (memcmp(named, previous->hash, sizeof named) != 0)
        return err_set(e, HW_EFAIL, "it does not follow the record before");
    if (!same_columns(&said, row))
        return err_set(e, HW_EFAIL, "the columns beside its text say something else");
    return 0;
}
