#include "controller/store/idempotency.h"
#include "controller/store/stmt.h"
#include <stdlib.h>
#include <string.h>

void store_answer_done(struct store_answer *a)
{
    free(a->body);
    *a = (struct store_answer){0};
}

int store_answer_find(struct db *db, const struct store_request *r, struct store_answer *out,
                      struct err *e)
{
    uint8_t sha256[sizeof r->sha256];
    struct stmt q = stmt_get(db, "SELECT request, status, location, revision, body"
                                 " FROM idempotency_keys"
                                 " WHERE api_key_id = ? AND key = ? AND created_at > ?");
    stmt_id(&q, &r->api_key_id);
    stmt_text(&q, r->key);
    stmt_int(&q, store_now(db) - IDEMPOTENCY_KEPT_S);
    int rc = stmt_one(&q, "answer", e);
    if (rc)
        return rc;
    *out = (struct store_answer){0};
    col_bytes(&q, sha256, sizeof sha256);
    out->status = (int)col_int(&q);
    col_text(&q, out->location, sizeof out->location);
    out->revision = (uint64_t)col_int(&q);
    out->body = col_text_dup(&q);
    stmt_end(&q);
    if (!out->body)
        rc = err_set(e, HW_ENOMEM, "out of memory");
    else if (memcmp(sha256, r->sha256, sizeof sha256) != 0)
        rc = err_set_field(e, HW_EINVAL, "Idempotency-Key",
                           "this key came with another request before");
    if (rc)
        store_answer_done(out);
    return rc;
}

int store_answer_keep(struct db *db, const struct store_request *r, const struct store_answer *a,
                      struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT OR REPLACE INTO idempotency_keys"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &r->api_key_id);
    stmt_text(&q, r->key);
    stmt_blob(&q, r->sha256, sizeof r->sha256);
    stmt_int(&q, a->status);
    stmt_text(&q, a->location);
    stmt_int(&q, (int64_t)a->revision);
    stmt_text(&q, a->body);
    stmt_int(&q, store_now(db));
    return stmt_run(&q, NULL, e);
}

int store_answer_expire(struct db *db, int64_t now, unsigned *removed, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM idempotency_keys WHERE created_at <= ?");
    stmt_int(&q, now - IDEMPOTENCY_KEPT_S);
    int rc = stmt_run(&q, &changed, e);
    *removed = (unsigned)changed;
    return rc;
}
