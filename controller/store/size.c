#include "controller/store/size.h"
#include "controller/store/stmt.h"
#include <stdio.h>
#include <stdlib.h>

#define COLUMNS                                                                                    \
    "id, provider, size, vcpus, memory_bytes, nic_bps, note, by_operator, created_at, updated_at," \
    " revision"

static void read_size(struct stmt *q, struct store_size *s)
{
    col_id(q, &s->id);
    col_text(q, s->provider, sizeof s->provider);
    col_text(q, s->size, sizeof s->size);
    s->vcpus = (unsigned)col_int(q);
    s->memory_bytes = (uint64_t)col_int(q);
    s->nic_bps = (uint64_t)col_int(q);
    col_text(q, s->note, sizeof s->note);
    s->by_operator = col_int(q) != 0;
    col_common(q, &s->common);
    (void)snprintf(s->key, sizeof s->key, "%s/%s", s->provider, s->size);
}

static void bind_size(struct stmt *q, struct store_size *s)
{
    stmt_id(q, &s->id);
    stmt_text(q, s->provider);
    stmt_text(q, s->size);
    stmt_int(q, s->vcpus);
    stmt_int(q, (int64_t)s->memory_bytes);
    stmt_int(q, (int64_t)s->nic_bps);
    stmt_text(q, s->note);
    stmt_int(q, s->by_operator);
    stmt_common(q, &s->common);
}

int store_size_insert(struct db *db, struct store_size *s, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO instance_sizes (" COLUMNS ")"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    bind_size(&q, s);
    return stmt_run(&q, NULL, e);
}

int store_size_put(struct db *db, struct store_size *s, struct err *e)
{
    struct stmt q = stmt_get(
        db, "INSERT INTO instance_sizes (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (provider, size) DO UPDATE SET vcpus = excluded.vcpus,"
            " memory_bytes = excluded.memory_bytes, nic_bps = excluded.nic_bps,"
            " note = excluded.note, by_operator = excluded.by_operator,"
            " updated_at = excluded.updated_at, revision = excluded.revision");
    bind_size(&q, s);
    int rc = stmt_run(&q, NULL, e);
    if (rc)
        return rc;
    q = stmt_get(db, "SELECT id FROM instance_sizes WHERE provider = ? AND size = ?");
    stmt_text(&q, s->provider);
    stmt_text(&q, s->size);
    rc = stmt_one(&q, "instance size", e);
    if (rc)
        return rc;
    col_id(&q, &s->id);
    stmt_end(&q);
    return 0;
}

int store_size_leave_all(struct db *db, struct err *e)
{
    struct stmt q = stmt_get(db, "UPDATE instance_sizes SET by_operator = 1");
    return stmt_run(&q, NULL, e);
}

int store_size_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM instance_sizes WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such instance size");
}

int store_size_get(struct db *db, const struct hw_id *id, struct store_size *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM instance_sizes WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "instance size", e);
    if (rc)
        return rc;
    *out = (struct store_size){0};
    read_size(&q, out);
    stmt_end(&q);
    return 0;
}

int store_size_list(struct db *db, const struct store_page *page, const char *provider,
                    const char *size, struct store_size **out, size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM instance_sizes"
                                 " WHERE provider || '/' || size > ?1"
                                 " AND (?3 = '' OR provider = ?3) AND (?4 = '' OR size = ?4)"
                                 " ORDER BY provider || '/' || size LIMIT ?2");
    stmt_text(&q, page->after ? page->after : "");
    stmt_int(&q, page->limit);
    stmt_text(&q, provider);
    stmt_text(&q, size);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_size *s = rows_add(&list, &count, sizeof *s);
        if (!s) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_size(&q, s);
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

int store_size_all(struct db *db, struct store_size **out, size_t *n, struct err *e)
{
    return store_size_list(db, &(struct store_page){.limit = UINT32_MAX}, "", "", out, n, e);
}
