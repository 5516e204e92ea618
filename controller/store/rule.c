#include "controller/store/rule.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

#define COLUMNS                                                                                    \
    "id, ruleset_id, rank, name, enabled, allow, match, log, description, created_at, updated_at," \
    " revision"

static void read_rule(struct stmt *q, struct store_rule *r)
{
    col_id(q, &r->id);
    col_id(q, &r->ruleset_id);
    r->rank = col_int(q);
    col_text(q, r->name, sizeof r->name);
    r->enabled = col_int(q) != 0;
    r->allow = col_int(q) != 0;
    r->match = col_text_dup(q);
    r->log = col_int(q) != 0;
    col_text(q, r->description, sizeof r->description);
    col_common(q, &r->common);
}

static void bind_rule(struct stmt *q, struct store_rule *r)
{
    stmt_id(q, &r->ruleset_id);
    stmt_int(q, r->rank);
    stmt_text(q, r->name);
    stmt_int(q, r->enabled);
    stmt_int(q, r->allow);
    stmt_text(q, r->match);
    stmt_int(q, r->log);
    stmt_text(q, r->description);
    stmt_common(q, &r->common);
}

int store_rule_list(struct db *db, const struct hw_id *ruleset_id, struct store_rule **out,
                    size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q =
        stmt_get(db, "SELECT " COLUMNS " FROM rules WHERE ruleset_id = ? ORDER BY rank, id");
    stmt_id(&q, ruleset_id);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_rule *r = rows_add(&list, &count, sizeof *r);
        if (r)
            read_rule(&q, r);
        if (!r || !r->match) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
    }
    stmt_end(&q);
    if (rc < 0) {
        store_rule_free(list, count);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

void store_rule_free(struct store_rule *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i].match);
    free(list);
}

int store_rule_insert(struct db *db, struct store_rule *r, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO rules (" COLUMNS ")"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &r->id);
    bind_rule(&q, r);
    return stmt_run(&q, NULL, e);
}

int store_rule_update(struct db *db, struct store_rule *r, struct err *e)
{
    int changed = 0;
    struct stmt q =
        stmt_get(db, "UPDATE rules SET ruleset_id = ?, rank = ?, name = ?, enabled = ?, allow = ?,"
                     " match = ?, log = ?, description = ?, created_at = ?, updated_at = ?,"
                     " revision = ? WHERE id = ?");
    bind_rule(&q, r);
    stmt_id(&q, &r->id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such rule");
}

int store_rule_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM rules WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such rule");
}

int store_rule_move(struct db *db, const struct hw_id *id, int64_t rank, struct err *e)
{
    struct stmt q = stmt_get(db, "UPDATE rules SET rank = ? WHERE id = ?");
    stmt_int(&q, rank);
    stmt_id(&q, id);
    return stmt_run(&q, NULL, e);
}

/* No name that the API takes has a blank. */
int store_rule_unname(struct db *db, const struct hw_id *id, struct err *e)
{
    struct stmt q = stmt_get(db, "UPDATE rules SET name = ' ' || hex(id) WHERE id = ?");
    stmt_id(&q, id);
    return stmt_run(&q, NULL, e);
}

int store_rule_groups(struct db *db, const struct hw_id *id, const struct hw_id *groups, size_t n,
                      struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM rule_groups WHERE rule_id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, NULL, e);
    for (size_t i = 0; i < n && !rc; i++) {
        q = stmt_get(db, "INSERT OR IGNORE INTO rule_groups VALUES (?, ?)");
        stmt_id(&q, id);
        stmt_id(&q, &groups[i]);
        rc = stmt_run(&q, NULL, e);
    }
    return rc;
}
