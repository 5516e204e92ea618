#include "controller/store/site_join.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

#define COLUMNS "id, site_a_id, site_b_id, joined, created_at, updated_at, revision"

static void read_join(struct stmt *q, struct store_site_join *j)
{
    col_id(q, &j->id);
    col_id(q, &j->site_a_id);
    col_id(q, &j->site_b_id);
    j->joined = col_int(q) != 0;
    col_common(q, &j->common);
}

int store_site_join_insert(struct db *db, struct store_site_join *j, struct err *e)
{
    struct stmt q =
        stmt_get(db, "INSERT INTO site_joins (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &j->id);
    stmt_id(&q, &j->site_a_id);
    stmt_id(&q, &j->site_b_id);
    stmt_int(&q, j->joined);
    stmt_common(&q, &j->common);
    return stmt_run(&q, NULL, e);
}

int store_site_join_update(struct db *db, struct store_site_join *j, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "UPDATE site_joins SET joined = ?, created_at = ?,"
                                 " updated_at = ?, revision = ? WHERE id = ?");
    stmt_int(&q, j->joined);
    stmt_common(&q, &j->common);
    stmt_id(&q, &j->id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such pair of sites");
}

int store_site_join_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM site_joins WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such pair of sites");
}

/* The rows of a query, which it ends. */
static int take_rows(struct stmt *q, struct store_site_join **out, size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    int rc;
    while ((rc = stmt_row(q, e)) == 1) {
        struct store_site_join *j = rows_add(&list, &count, sizeof *j);
        if (!j) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_join(q, j);
    }
    stmt_end(q);
    if (rc < 0) {
        free(list);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

int store_site_join_former(struct db *db, const struct store_page *page,
                           const struct hw_id *site_id, struct store_site_join **out, size_t *n,
                           struct err *e)
{
    struct hw_id after = {0};
    if (page->after && id_parse(page->after, &after))
        return err_set_field(e, HW_EINVAL, "cursor", "not a cursor of this list");
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM site_joins WHERE id > ?1 AND NOT joined"
                                 " AND (?3 IS NULL OR site_a_id = ?3 OR site_b_id = ?3)"
                                 " ORDER BY id LIMIT ?2");
    stmt_id(&q, &after);
    stmt_int(&q, page->limit);
    stmt_id(&q, site_id);
    return take_rows(&q, out, n, e);
}

int store_site_join_former_get(struct db *db, const struct hw_id *id, struct store_site_join *out,
                               struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM site_joins WHERE id = ? AND NOT joined");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "separation", e);
    if (rc)
        return rc;
    *out = (struct store_site_join){0};
    read_join(&q, out);
    stmt_end(&q);
    return 0;
}

int store_site_join_all(struct db *db, struct store_site_join **out, size_t *n, struct err *e)
{
    struct stmt q =
        stmt_get(db, "SELECT " COLUMNS " FROM site_joins ORDER BY site_a_id, site_b_id");
    return take_rows(&q, out, n, e);
}
