#include "controller/store/ruleset.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

#define COLUMNS                                                                                    \
    "id, name, site_id, scope, enabled, base_allow, log_base, description, created_at,"            \
    " updated_at, revision"
#define READ                                                                                       \
    "id, name, site_id, enabled, base_allow, log_base, description, created_at, updated_at,"       \
    " revision, (SELECT count(*) FROM rules WHERE ruleset_id = rulesets.id)"

static void read_ruleset(struct stmt *q, struct store_ruleset *s)
{
    col_id(q, &s->id);
    col_text(q, s->name, sizeof s->name);
    col_id(q, &s->site_id);
    s->enabled = col_int(q) != 0;
    s->base_allow = col_int(q) != 0;
    s->log_base = col_int(q) != 0;
    col_text(q, s->description, sizeof s->description);
    col_common(q, &s->common);
    s->rules_total = (unsigned)col_int(q);
}

static void bind_ruleset(struct stmt *q, struct store_ruleset *s)
{
    stmt_text(q, s->name);
    stmt_id(q, &s->site_id);
    stmt_text(q, RULESET_SCOPE_SITE);
    stmt_int(q, s->enabled);
    stmt_int(q, s->base_allow);
    stmt_int(q, s->log_base);
    stmt_text(q, s->description);
    stmt_common(q, &s->common);
}

int store_ruleset_insert(struct db *db, struct store_ruleset *s, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO rulesets (" COLUMNS ")"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &s->id);
    bind_ruleset(&q, s);
    return stmt_run(&q, NULL, e);
}

int store_ruleset_update(struct db *db, struct store_ruleset *s, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "UPDATE rulesets SET name = ?, site_id = ?, scope = ?,"
                                 " enabled = ?, base_allow = ?, log_base = ?, description = ?,"
                                 " created_at = ?, updated_at = ?, revision = ? WHERE id = ?");
    bind_ruleset(&q, s);
    stmt_id(&q, &s->id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such ruleset");
}

int store_ruleset_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM rulesets WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such ruleset");
}

int store_ruleset_get(struct db *db, const struct hw_id *id, struct store_ruleset *out,
                      struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " READ " FROM rulesets WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "ruleset", e);
    if (rc)
        return rc;
    *out = (struct store_ruleset){0};
    read_ruleset(&q, out);
    stmt_end(&q);
    return 0;
}

int store_ruleset_list(struct db *db, const struct store_page *page, const struct hw_id *site_id,
                       struct store_ruleset **out, size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = stmt_get(db, "SELECT " READ " FROM rulesets WHERE name > ?1"
                                 " AND (?3 IS NULL OR site_id = ?3) ORDER BY name LIMIT ?2");
    stmt_text(&q, page->after ? page->after : "");
    stmt_int(&q, page->limit);
    stmt_id(&q, site_id);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_ruleset *s = rows_add(&list, &count, sizeof *s);
        if (!s) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_ruleset(&q, s);
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
