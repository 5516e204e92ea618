#include "controller/store/web_session.h"
#include "controller/store/stmt.h"

int store_web_session_insert(struct db *db, const struct store_web_session *s, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO web_sessions VALUES (?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &s->id);
    stmt_blob(&q, s->secret_sha256, sizeof s->secret_sha256);
    stmt_id(&q, &s->api_key_id);
    stmt_int(&q, s->created_at);
    stmt_int(&q, s->last_used_at);
    stmt_int(&q, s->expires_at);
    return stmt_run(&q, NULL, e);
}

int store_web_session_by_secret(struct db *db, const uint8_t secret_sha256[STORE_SHA256_LEN],
                                struct store_web_session *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT id, secret_sha256, api_key_id, created_at,"
                                 " last_used_at, expires_at"
                                 " FROM web_sessions WHERE secret_sha256 = ?");
    stmt_blob(&q, secret_sha256, STORE_SHA256_LEN);
    int rc = stmt_one(&q, "session", e);
    if (!rc) {
        col_id(&q, &out->id);
        col_bytes(&q, out->secret_sha256, sizeof out->secret_sha256);
        col_id(&q, &out->api_key_id);
        out->created_at = col_int(&q);
        out->last_used_at = col_int(&q);
        out->expires_at = col_int(&q);
    }
    stmt_end(&q);
    return rc;
}

int store_web_session_used(struct db *db, const struct hw_id *id, int64_t at, struct err *e)
{
    struct stmt q = stmt_get(db, "UPDATE web_sessions SET last_used_at = ? WHERE id = ?");
    stmt_int(&q, at);
    stmt_id(&q, id);
    return stmt_run(&q, NULL, e);
}

int store_web_session_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM web_sessions WHERE id = ?");
    stmt_id(&q, id);
    return stmt_run(&q, NULL, e);
}

int store_web_session_expire(struct db *db, int64_t idle_since, const struct hw_id *api_key_id,
                             unsigned keep, struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM web_sessions"
                                 " WHERE expires_at <= ? OR last_used_at <= ?");
    stmt_int(&q, store_now(db));
    stmt_int(&q, idle_since);
    int rc = stmt_run(&q, NULL, e);
    if (rc)
        return rc;
    q = stmt_get(db, "DELETE FROM web_sessions WHERE id IN (SELECT id FROM web_sessions"
                     " WHERE api_key_id = ?"
                     " ORDER BY created_at DESC, rowid DESC LIMIT -1 OFFSET ?)");
    stmt_id(&q, api_key_id);
    stmt_int(&q, keep);
    return stmt_run(&q, NULL, e);
}
