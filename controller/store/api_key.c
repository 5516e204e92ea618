#include "controller/store/api_key.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

#define COLUMNS                                                                                    \
    "id, sha256, prefix, name, role, created_by, last_used_at, expires_at, created_at,"            \
    " updated_at, revision"

enum api_key_state store_api_key_state(const struct store_api_key *k, int64_t now)
{
    if (!k->expires_at || now < k->expires_at - API_KEY_EXPIRING_S)
        return API_KEY_VALID;
    return now < k->expires_at ? API_KEY_EXPIRING : API_KEY_EXPIRED;
}

static void read_row(struct stmt *q, struct store_api_key *k)
{
    col_id(q, &k->id);
    col_bytes(q, k->sha256, sizeof k->sha256);
    col_text(q, k->prefix, sizeof k->prefix);
    col_text(q, k->name, sizeof k->name);
    int64_t role = col_int(q);
    /* A role of a newer program is one that this one does not grant. */
    k->role = role == API_KEY_ADMIN || role == API_KEY_OPERATOR ? (enum api_key_role)role
                                                                : API_KEY_VIEWER;
    col_text(q, k->created_by, sizeof k->created_by);
    k->last_used_at = col_int(q);
    k->expires_at = col_int(q);
    col_common(q, &k->common);
}

int store_api_key_insert(struct db *db, struct store_api_key *k, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO api_keys (" COLUMNS ")"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &k->id);
    stmt_blob(&q, k->sha256, sizeof k->sha256);
    stmt_text(&q, k->prefix);
    stmt_text(&q, k->name);
    stmt_int(&q, k->role);
    stmt_text(&q, k->created_by);
    stmt_int(&q, k->last_used_at);
    stmt_int(&q, k->expires_at);
    stmt_common(&q, &k->common);
    return stmt_run(&q, NULL, e);
}

static int take_one(struct stmt *q, struct store_api_key *out, struct err *e)
{
    int rc = stmt_one(q, "API key", e);
    if (rc)
        return rc;
    *out = (struct store_api_key){0};
    read_row(q, out);
    stmt_end(q);
    return 0;
}

int store_api_key_get(struct db *db, const struct hw_id *id, struct store_api_key *out,
                      struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM api_keys WHERE id = ?");
    stmt_id(&q, id);
    return take_one(&q, out, e);
}

int store_api_key_by_secret(struct db *db, const uint8_t sha256[STORE_SHA256_LEN],
                            struct store_api_key *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM api_keys WHERE sha256 = ?");
    stmt_blob(&q, sha256, STORE_SHA256_LEN);
    return take_one(&q, out, e);
}

int store_api_key_live(struct db *db, const struct hw_id *id, struct store_api_key *out,
                       struct err *e)
{
    int rc = store_api_key_get(db, id, out, e);
    if (!rc && store_api_key_state(out, store_now(db)) == API_KEY_EXPIRED)
        rc = err_set(e, HW_ENOTFOUND, "the API key %s has ended", out->name);
    return rc;
}

int store_api_key_list(struct db *db, const struct store_page *page, struct store_api_key **out,
                       size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM api_keys WHERE name > ?"
                                 " ORDER BY name LIMIT ?");
    stmt_text(&q, page->after ? page->after : "");
    stmt_int(&q, page->limit);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_api_key *k = rows_add(&list, &count, sizeof *k);
        if (!k) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_row(&q, k);
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

int store_api_key_used(struct db *db, const struct hw_id *id, int64_t at, struct err *e)
{
    struct stmt q = stmt_get(db, "UPDATE api_keys SET last_used_at = ? WHERE id = ?");
    stmt_int(&q, at);
    stmt_id(&q, id);
    return stmt_run(&q, NULL, e);
}

int store_api_key_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM api_keys WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such API key");
}

int store_api_key_delete_by_name(struct db *db, const char *name, struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM api_keys WHERE name = ?");
    stmt_text(&q, name);
    return stmt_run(&q, NULL, e);
}

int store_api_key_count(struct db *db, unsigned *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT count(*) FROM api_keys");
    int rc = stmt_one(&q, "answer", e);
    if (!rc)
        *out = (unsigned)col_int(&q);
    stmt_end(&q);
    return rc;
}

int store_api_key_other_admin(struct db *db, const struct hw_id *id, bool *out, struct err *e)
{
    struct store_api_key k = {0};
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM api_keys WHERE role = ? AND id <> ?");
    stmt_int(&q, API_KEY_ADMIN);
    stmt_id(&q, id);
    int rc;
    *out = false;
    while ((rc = stmt_row(&q, e)) == 1 && !*out) {
        read_row(&q, &k);
        *out = store_api_key_state(&k, store_now(db)) != API_KEY_EXPIRED;
    }
    stmt_end(&q);
    return rc < 0 ? rc : 0;
}
