#include "controller/store/api_token.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

int store_api_token_insert(struct db *db, const struct store_api_token *t, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO api_tokens VALUES (?, ?, ?, ?, ?)");
    stmt_id(&q, &t->id);
    stmt_blob(&q, t->sha256, sizeof t->sha256);
    stmt_text(&q, t->prefix);
    stmt_int(&q, t->created_at);
    stmt_int(&q, t->revoked_at);
    return stmt_run(&q, NULL, e);
}

/* Columns in the order of both selects below. */
static void read_row(struct stmt *q, struct store_api_token *t)
{
    col_id(q, &t->id);
    col_bytes(q, t->sha256, sizeof t->sha256);
    col_text(q, t->prefix, sizeof t->prefix);
    t->created_at = col_int(q);
    t->revoked_at = col_int(q);
}

int store_api_token_get(struct db *db, const struct hw_id *id, struct store_api_token *out,
                        struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT id, sha256, prefix, created_at, revoked_at"
                                 " FROM api_tokens WHERE revoked_at = 0 AND id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "token", e);
    if (!rc)
        read_row(&q, out);
    stmt_end(&q);
    return rc;
}

int store_api_token_valid(struct db *db, struct store_api_token **out, size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = stmt_get(db, "SELECT id, sha256, prefix, created_at, revoked_at"
                                 " FROM api_tokens WHERE revoked_at = 0 ORDER BY id");
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_api_token *t = rows_add(&list, &count, sizeof *t);
        if (!t) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_row(&q, t);
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

int store_api_token_any(struct db *db, bool *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT EXISTS (SELECT 1 FROM api_tokens)");
    int rc = stmt_one(&q, "answer", e);
    if (!rc)
        *out = col_int(&q) != 0;
    stmt_end(&q);
    return rc;
}

int store_api_token_revoke_all(struct db *db, struct err *e)
{
    struct stmt q = stmt_get(db, "UPDATE api_tokens SET revoked_at = ? WHERE revoked_at = 0");
    stmt_int(&q, store_now(db));
    return stmt_run(&q, NULL, e);
}
