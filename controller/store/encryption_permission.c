#include "controller/store/encryption_permission.h"
#include "common/esp_suite.h"
#include "controller/store/denial.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

#define SUITE_TEXT 16

static void read_permission(struct stmt *q, struct store_permission *p)
{
    char suite[SUITE_TEXT];
    col_id(q, &p->connection_id);
    col_id(q, &p->id);
    col_text(q, suite, sizeof suite);
    p->suite = (uint8_t)esp_weak_by_name(suite);
    col_text(q, p->reason, sizeof p->reason);
    p->ends_at = col_int(q);
    p->created_at = col_int(q);
    col_id(q, &p->created_by);
    col_text(q, p->created_name, sizeof p->created_name);
}

/* Its permission is part of the connection as clients see it. */
static int touch(struct db *db, const struct hw_id *connection_id, struct err *e)
{
    struct stmt q =
        stmt_get(db, "UPDATE connections SET updated_at = ?, revision = ? WHERE id = ?");
    stmt_int(&q, store_now(db));
    stmt_int(&q, (int64_t)store_revision(db));
    stmt_id(&q, connection_id);
    return stmt_run(&q, NULL, e);
}

int store_permission_put(struct db *db, struct store_permission *p, struct err *e)
{
    int rc = store_permission_end(db, &p->connection_id, e);
    if (rc)
        return rc;
    p->created_at = store_now(db);
    struct stmt q =
        stmt_get(db, "INSERT INTO encryption_permissions (connection_id, id, suite, reason,"
                     " ends_at, created_at, created_by, created_name, site_a_id, site_b_id)"
                     " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, site_a_id, site_b_id"
                     " FROM connections WHERE id = ?1");
    stmt_id(&q, &p->connection_id);
    stmt_id(&q, &p->id);
    stmt_text(&q, esp_weak_name(p->suite));
    stmt_text(&q, p->reason);
    stmt_int(&q, p->ends_at);
    stmt_int(&q, p->created_at);
    stmt_id(&q, &p->created_by);
    stmt_text(&q, p->created_name);
    rc = stmt_run(&q, NULL, e);
    return rc ? rc : touch(db, &p->connection_id, e);
}

int store_permission_get(struct db *db, const struct hw_id *connection_id,
                         struct store_permission *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT connection_id, id, suite, reason, ends_at, created_at,"
                                 " created_by, created_name FROM encryption_permissions"
                                 " WHERE connection_id = ?");
    stmt_id(&q, connection_id);
    int rc = stmt_one(&q, "permission", e);
    if (rc)
        return rc;
    *out = (struct store_permission){.suite = 0};
    read_permission(&q, out);
    stmt_end(&q);
    return 0;
}

int store_permission_all(struct db *db, struct store_permission **out, size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = stmt_get(db, "SELECT connection_id, id, suite, reason, ends_at, created_at,"
                                 " created_by, created_name FROM encryption_permissions"
                                 " ORDER BY connection_id");
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_permission *p = rows_add(&list, &count, sizeof *p);
        if (!p) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_permission(&q, p);
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

int store_permission_end(struct db *db, const struct hw_id *connection_id, struct err *e)
{
    uint64_t number = 0;
    int ended = 0;
    int rc = store_denial_known(db, &number, e);
    if (rc)
        return rc;
    struct stmt q = stmt_get(db, "INSERT INTO ended_permissions SELECT id, ?, ends_at"
                                 " FROM encryption_permissions WHERE connection_id = ?");
    stmt_int(&q, (int64_t)number + 1);
    stmt_id(&q, connection_id);
    rc = stmt_run(&q, &ended, e);
    if (rc || !ended)
        return rc;
    q = stmt_get(db, "DELETE FROM encryption_permissions WHERE connection_id = ?");
    stmt_id(&q, connection_id);
    rc = stmt_run(&q, NULL, e);
    return rc ? rc : touch(db, connection_id, e);
}

int store_permission_lapsed(struct db *db, struct store_lapsed **out, size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q =
        stmt_get(db, "SELECT p.connection_id, c.name, CASE WHEN p.ends_at <= ?1 THEN 1"
                     " WHEN NOT c.path_resiliency THEN 2"
                     " WHEN p.site_a_id IS NOT c.site_a_id OR p.site_b_id IS NOT c.site_b_id"
                     " THEN 4 ELSE 3 END"
                     " FROM encryption_permissions p JOIN connections c ON c.id = p.connection_id"
                     " JOIN sites a ON a.id = c.site_a_id JOIN sites b ON b.id = c.site_b_id"
                     " WHERE p.ends_at <= ?1 OR NOT c.path_resiliency"
                     " OR NOT a.trusted_underlay OR NOT b.trusted_underlay"
                     " OR p.site_a_id IS NOT c.site_a_id OR p.site_b_id IS NOT c.site_b_id"
                     " ORDER BY c.name");
    stmt_int(&q, store_now(db));
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_lapsed *l = rows_add(&list, &count, sizeof *l);
        if (!l) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        col_id(&q, &l->connection_id);
        col_text(&q, l->connection, sizeof l->connection);
        l->why = (enum permission_lapse)col_int(&q);
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

int store_permission_next_end(struct db *db, int64_t *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT COALESCE(MIN(ends_at), 0) FROM encryption_permissions");
    int rc = stmt_one(&q, "permission", e);
    if (rc)
        return rc;
    *out = col_int(&q);
    stmt_end(&q);
    return 0;
}

int store_permission_ended(struct db *db, struct hw_id **out, size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = stmt_get(db, "SELECT id FROM ended_permissions ORDER BY id");
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct hw_id *id = rows_add(&list, &count, sizeof *id);
        if (!id) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        col_id(&q, id);
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
