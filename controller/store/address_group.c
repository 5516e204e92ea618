#include "controller/store/address_group.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

#define COLUMNS "id, name, site_id, description, created_at, updated_at, revision"
#define READ    COLUMNS ", (SELECT count(*) FROM rule_groups WHERE group_id = address_groups.id)"

static void read_group(struct stmt *q, struct store_address_group *g)
{
    col_id(q, &g->id);
    col_text(q, g->name, sizeof g->name);
    col_id(q, &g->site_id);
    col_text(q, g->description, sizeof g->description);
    col_common(q, &g->common);
    g->rules_using = (unsigned)col_int(q);
}

static int read_prefixes(struct db *db, struct store_address_group *g, struct err *e)
{
    void *list = NULL;
    struct stmt q = stmt_get(db, "SELECT first, length FROM address_group_prefixes"
                                 " WHERE group_id = ? ORDER BY position");
    stmt_id(&q, &g->id);
    int rc;
    g->n_prefixes = 0;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct prefix *p = rows_add(&list, &g->n_prefixes, sizeof *p);
        if (!p) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        col_ip(&q, &p->addr);
        p->len = (uint8_t)col_int(&q);
    }
    stmt_end(&q);
    g->prefixes = list;
    return rc < 0 ? rc : 0;
}

static int write_prefixes(struct db *db, const struct store_address_group *g, struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM address_group_prefixes WHERE group_id = ?");
    stmt_id(&q, &g->id);
    int rc = stmt_run(&q, NULL, e);
    for (size_t i = 0; i < g->n_prefixes && !rc; i++) {
        q = stmt_get(db, "INSERT INTO address_group_prefixes VALUES (?, ?, ?, ?, ?)");
        stmt_id(&q, &g->id);
        stmt_int(&q, (int64_t)i);
        stmt_int(&q, g->prefixes[i].addr.family);
        stmt_int(&q, g->prefixes[i].len);
        stmt_ip(&q, &g->prefixes[i].addr);
        rc = stmt_run(&q, NULL, e);
    }
    return rc;
}

static void bind_group(struct stmt *q, struct store_address_group *g)
{
    stmt_text(q, g->name);
    stmt_id(q, &g->site_id);
    stmt_text(q, g->description);
    stmt_common(q, &g->common);
}

int store_address_group_insert(struct db *db, struct store_address_group *g, struct err *e)
{
    struct stmt q =
        stmt_get(db, "INSERT INTO address_groups (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &g->id);
    bind_group(&q, g);
    int rc = stmt_run(&q, NULL, e);
    return rc ? rc : write_prefixes(db, g, e);
}

int store_address_group_update(struct db *db, struct store_address_group *g, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "UPDATE address_groups SET name = ?, site_id = ?,"
                                 " description = ?, created_at = ?, updated_at = ?, revision = ?"
                                 " WHERE id = ?");
    bind_group(&q, g);
    stmt_id(&q, &g->id);
    int rc = stmt_run(&q, &changed, e);
    if (!rc && !changed)
        rc = err_set(e, HW_ENOTFOUND, "no such address group");
    return rc ? rc : write_prefixes(db, g, e);
}

int store_address_group_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM address_groups WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such address group");
}

int store_address_group_get(struct db *db, const struct hw_id *id, struct store_address_group *out,
                            struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " READ " FROM address_groups WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "address group", e);
    if (rc)
        return rc;
    *out = (struct store_address_group){0};
    read_group(&q, out);
    stmt_end(&q);
    return read_prefixes(db, out, e);
}

int store_address_group_list(struct db *db, const struct store_page *page,
                             const struct hw_id *site_id, struct store_address_group **out,
                             size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct hw_id after = {0};
    if (page->after && id_parse(page->after, &after))
        return err_set_field(e, HW_EINVAL, "cursor", "not a cursor of this list");
    struct stmt q = stmt_get(db, "SELECT " READ " FROM address_groups WHERE id > ?1"
                                 " AND (?3 IS NULL OR site_id = ?3) ORDER BY id LIMIT ?2");
    stmt_id(&q, &after);
    stmt_int(&q, page->limit);
    stmt_id(&q, site_id);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_address_group *g = rows_add(&list, &count, sizeof *g);
        if (!g) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_group(&q, g);
    }
    stmt_end(&q);
    struct store_address_group *groups = list;
    for (size_t i = 0; i < count && rc >= 0; i++)
        rc = read_prefixes(db, &groups[i], e);
    if (rc < 0) {
        store_address_group_free(groups, count);
        return rc;
    }
    *out = groups;
    *n = count;
    return 0;
}

void store_address_group_free(struct store_address_group *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i].prefixes);
    free(list);
}
