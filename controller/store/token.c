#include "controller/store/token.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

#define COLUMNS                                                                                    \
    "id, secret_sha256, site_id, gateway_name, size, max_uses, uses, expires_at, created_at,"      \
    " updated_at, revision"

static void read_token(struct stmt *q, struct store_token *t)
{
    col_id(q, &t->id);
    col_bytes(q, t->secret_sha256, sizeof t->secret_sha256);
    col_id(q, &t->site_id);
    col_text(q, t->gateway_name, sizeof t->gateway_name);
    col_text(q, t->size, sizeof t->size);
    t->max_uses = (unsigned)col_int(q);
    t->uses = (unsigned)col_int(q);
    t->expires_at = col_int(q);
    col_common(q, &t->common);
}

int store_token_insert(struct db *db, struct store_token *t, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO enrolment_tokens (" COLUMNS ")"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &t->id);
    stmt_blob(&q, t->secret_sha256, sizeof t->secret_sha256);
    stmt_id(&q, &t->site_id);
    stmt_text(&q, t->gateway_name);
    stmt_text(&q, t->size);
    stmt_int(&q, t->max_uses);
    stmt_int(&q, t->uses);
    stmt_int(&q, t->expires_at);
    stmt_common(&q, &t->common);
    return stmt_run(&q, NULL, e);
}

int store_token_update(struct db *db, struct store_token *t, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "UPDATE enrolment_tokens SET expires_at = ?, created_at = ?,"
                                 " updated_at = ?, revision = ? WHERE id = ?");
    stmt_int(&q, t->expires_at);
    stmt_common(&q, &t->common);
    stmt_id(&q, &t->id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such enrolment token");
}

int store_token_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM enrolment_tokens WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such enrolment token");
}

int store_token_get(struct db *db, const struct hw_id *id, struct store_token *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM enrolment_tokens WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "enrolment token", e);
    if (rc)
        return rc;
    *out = (struct store_token){0};
    read_token(&q, out);
    stmt_end(&q);
    return 0;
}

int store_token_list(struct db *db, const struct store_page *page, const struct hw_id *site_id,
                     struct store_token **out, size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct hw_id after = {0};
    if (page->after && id_parse(page->after, &after))
        return err_set_field(e, HW_EINVAL, "cursor", "not a cursor of this list");
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM enrolment_tokens WHERE id > ?1"
                                 " AND (?3 IS NULL OR site_id = ?3) ORDER BY id LIMIT ?2");
    stmt_id(&q, &after);
    stmt_int(&q, page->limit);
    stmt_id(&q, site_id);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_token *t = rows_add(&list, &count, sizeof *t);
        if (!t) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_token(&q, t);
    }
    stmt_end(&q);
    if (rc < 0) {
        free(list);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

void store_token_use_done(struct store_token_use *u)
{
    free(u->certificate_pem);
    u->certificate_pem = NULL;
}

int store_token_use_get(struct db *db, const struct hw_id *token_id,
                        const uint8_t key_sha256[STORE_SHA256_LEN], struct store_token_use *out,
                        struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT gateway_id, certificate_pem FROM enrolment_token_uses"
                                 " WHERE token_id = ? AND key_sha256 = ?");
    stmt_id(&q, token_id);
    stmt_blob(&q, key_sha256, STORE_SHA256_LEN);
    int rc = stmt_one(&q, "use of the token", e);
    if (rc)
        return rc;
    col_id(&q, &out->gateway_id);
    out->certificate_pem = col_text_dup(&q);
    stmt_end(&q);
    return out->certificate_pem ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

int store_token_use_add(struct db *db, const struct hw_id *token_id,
                        const uint8_t key_sha256[STORE_SHA256_LEN], const struct hw_id *gateway_id,
                        const char *certificate_pem, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "UPDATE enrolment_tokens SET uses = uses + 1, updated_at = ?,"
                                 " revision = ? WHERE id = ? AND uses < max_uses");
    stmt_int(&q, store_now(db));
    stmt_int(&q, (int64_t)store_revision(db));
    stmt_id(&q, token_id);
    int rc = stmt_run(&q, &changed, e);
    if (!rc && !changed)
        rc = err_set(e, HW_ECONFLICT, "the token has been used already");
    if (rc)
        return rc;
    q = stmt_get(db, "INSERT INTO enrolment_token_uses VALUES (?, ?, ?, ?, ?)");
    stmt_id(&q, token_id);
    stmt_blob(&q, key_sha256, STORE_SHA256_LEN);
    stmt_id(&q, gateway_id);
    stmt_text(&q, certificate_pem);
    stmt_int(&q, store_now(db));
    return stmt_run(&q, NULL, e);
}
