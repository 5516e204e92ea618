#include "controller/store/migrate.h"
#include "common/log.h"

static int failed(sqlite3 *sq, const struct migration *m, struct err *e)
{
    err_set(e, HW_EFAIL, "migrate the store to %04d_%s: %s", m->number, m->name,
            sqlite3_errmsg(sq));
    (void)sqlite3_exec(sq, "ROLLBACK", NULL, NULL, NULL);
    return HW_EFAIL;
}

static int version(sqlite3 *sq, int *out, struct err *e)
{
    sqlite3_stmt *s;
    if (sqlite3_prepare_v2(sq, "PRAGMA user_version", -1, &s, NULL) != SQLITE_OK)
        return err_set(e, HW_EFAIL, "read the store's version: %s", sqlite3_errmsg(sq));
    *out = sqlite3_step(s) == SQLITE_ROW ? sqlite3_column_int(s, 0) : -1;
    (void)sqlite3_finalize(s);
    return *out < 0 ? err_set(e, HW_EFAIL, "read the store's version: %s", sqlite3_errmsg(sq)) : 0;
}

/* Looks again once it is alone: another process may have done it meanwhile. */
static int apply(sqlite3 *sq, const struct migration *m, struct err *e)
{
    int have = 0;
    char *pragma = sqlite3_mprintf("PRAGMA user_version = %d", m->number);
    int rc = pragma ? SQLITE_OK : SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(sq, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
    if (rc == SQLITE_OK && version(sq, &have, NULL))
        rc = SQLITE_ERROR;
    if (rc == SQLITE_OK && have >= m->number) {
        sqlite3_free(pragma);
        (void)sqlite3_exec(sq, "ROLLBACK", NULL, NULL, NULL);
        return 0;
    }
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(sq, (const char *)m->sql, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(sq, pragma, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(sq, "COMMIT", NULL, NULL, NULL);
    sqlite3_free(pragma);
    return rc == SQLITE_OK ? 0 : failed(sq, m, e);
}

int migrate_is_empty(sqlite3 *sq, bool *out, struct err *e)
{
    int have = 0;
    int rc = version(sq, &have, e);
    *out = have == 0;
    return rc;
}

static int known_version(sqlite3 *sq, int *have, struct err *e)
{
    int newest = migrations[migrations_count - 1].number;
    int rc = version(sq, have, e);
    if (!rc && *have > newest)
        rc = err_set(e, HW_EFAIL,
                     "the store has schema %d, this program knows %d: it was used by a newer one",
                     *have, newest);
    return rc;
}

int migrate_is_known(sqlite3 *sq, struct err *e)
{
    int have = 0;
    return known_version(sq, &have, e);
}

int migrate(sqlite3 *sq, struct err *e)
{
    int have = 0;
    int rc = known_version(sq, &have, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < migrations_count; i++) {
        if (migrations[i].number <= have)
            continue;
        rc = apply(sq, &migrations[i], e);
        if (rc)
            return rc;
        log_info("store migrated schema=%d topic=%s", migrations[i].number, migrations[i].name);
    }
    return 0;
}
