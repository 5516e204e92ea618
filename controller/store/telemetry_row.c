#include "controller/store/telemetry_row.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

int store_telemetry_row_put(struct db *db, const struct hw_id *gateway, unsigned step, int64_t at,
                            const void *main_data, size_t main_len, const void *detail,
                            size_t detail_len, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT OR REPLACE INTO telemetry_rows"
                                 " (gateway_id, step, at, main, detail) VALUES (?, ?, ?, ?, ?)");
    stmt_id(&q, gateway);
    stmt_int(&q, step);
    stmt_int(&q, at);
    stmt_blob(&q, main_data, main_len);
    stmt_blob(&q, detail, detail_len);
    return stmt_run(&q, NULL, e);
}

/* Columns at, main, detail of the row that stands ready. */
static int call(struct stmt *q, store_telemetry_row_fn fn, void *arg, struct err *e)
{
    struct store_telemetry_row row = {.at = sqlite3_column_int64(q->s, 0),
                                      .main_data = sqlite3_column_blob(q->s, 1),
                                      .main_len = (size_t)sqlite3_column_bytes(q->s, 1),
                                      .detail = sqlite3_column_blob(q->s, 2),
                                      .detail_len = (size_t)sqlite3_column_bytes(q->s, 2)};
    return fn(arg, &row, e);
}

int store_telemetry_row_each(struct db *db, const struct hw_id *gateway, unsigned step,
                             int64_t from, int64_t to, store_telemetry_row_fn fn, void *arg,
                             struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT at, main, detail FROM telemetry_rows WHERE gateway_id = ?"
                                 " AND step = ? AND at >= ? AND at < ? ORDER BY at");
    stmt_id(&q, gateway);
    stmt_int(&q, step);
    stmt_int(&q, from);
    stmt_int(&q, to);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1)
        if ((rc = call(&q, fn, arg, e)))
            break;
    stmt_end(&q);
    return rc;
}

int store_telemetry_row_times(struct db *db, const struct hw_id *gateway, unsigned step,
                              int64_t from, int64_t to,
                              int (*fn)(void *arg, int64_t at, struct err *e), void *arg,
                              struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT at FROM telemetry_rows WHERE gateway_id = ?"
                                 " AND step = ? AND at >= ? AND at < ? ORDER BY at");
    stmt_id(&q, gateway);
    stmt_int(&q, step);
    stmt_int(&q, from);
    stmt_int(&q, to);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1)
        if ((rc = fn(arg, col_int(&q), e)))
            break;
    stmt_end(&q);
    return rc;
}

int store_telemetry_row_newest(struct db *db, const struct hw_id *gateway,
                               store_telemetry_row_fn fn, void *arg, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT at, main, detail FROM telemetry_rows WHERE gateway_id = ?"
                                 " AND step = 0 ORDER BY at DESC LIMIT 1");
    stmt_id(&q, gateway);
    int rc = stmt_row(&q, e);
    if (rc == 1)
        rc = call(&q, fn, arg, e);
    stmt_end(&q);
    return rc;
}

int store_telemetry_row_next(struct db *db, const struct hw_id *gateway, unsigned step,
                             int64_t from, int64_t *at, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT at FROM telemetry_rows WHERE gateway_id = ? AND step = ?"
                                 " AND at >= ? ORDER BY at LIMIT 1");
    stmt_id(&q, gateway);
    stmt_int(&q, step);
    stmt_int(&q, from);
    int rc = stmt_one(&q, "row", e);
    if (rc)
        return rc;
    *at = col_int(&q);
    stmt_end(&q);
    return 0;
}

int store_telemetry_rolled_get(struct db *db, const struct hw_id *gateway, unsigned step,
                               int64_t *until, struct err *e)
{
    struct stmt q =
        stmt_get(db, "SELECT until FROM telemetry_rolled WHERE gateway_id = ? AND step = ?");
    stmt_id(&q, gateway);
    stmt_int(&q, step);
    int rc = stmt_row(&q, e);
    *until = rc == 1 ? col_int(&q) : 0;
    stmt_end(&q);
    return rc < 0 ? rc : 0;
}

int store_telemetry_rolled_set(struct db *db, const struct hw_id *gateway, unsigned step,
                               int64_t until, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT OR REPLACE INTO telemetry_rolled"
                                 " (gateway_id, step, until) VALUES (?, ?, ?)");
    stmt_id(&q, gateway);
    stmt_int(&q, step);
    stmt_int(&q, until);
    return stmt_run(&q, NULL, e);
}

static int expire(struct stmt q, unsigned step, int64_t cutoff, unsigned max, unsigned *removed,
                  struct err *e)
{
    int changed = 0;
    stmt_int(&q, step);
    stmt_int(&q, cutoff);
    stmt_int(&q, max);
    int rc = stmt_run(&q, &changed, e);
    if (!rc)
        *removed = (unsigned)changed;
    return rc;
}

int store_telemetry_row_expire(struct db *db, unsigned step, int64_t cutoff, unsigned max,
                               unsigned *removed, struct err *e)
{
    return expire(stmt_get(db, "DELETE FROM telemetry_rows WHERE row_id IN"
                               " (SELECT row_id FROM telemetry_rows WHERE step = ? AND at < ?"
                               " ORDER BY at LIMIT ?)"),
                  step, cutoff, max, removed, e);
}

int store_telemetry_detail_expire(struct db *db, unsigned step, int64_t cutoff, unsigned max,
                                  unsigned *removed, struct err *e)
{
    return expire(stmt_get(db, "UPDATE telemetry_rows SET detail = NULL WHERE row_id IN"
                               " (SELECT row_id FROM telemetry_rows WHERE step = ? AND at < ?"
                               " AND detail IS NOT NULL ORDER BY at LIMIT ?)"),
                  step, cutoff, max, removed, e);
}
