#include "controller/store/audit.h"
#include "controller/store/stmt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS "sequence, record, hash, at, actor_id, object_type, object_id, refused"

void store_audit_list_done(struct store_audit *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i].record);
    free(list);
}

int store_audit_head(struct db *db, struct store_audit_head *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT sequence, hash FROM audit_head");
    int rc = stmt_one(&q, "head of the audit", e);
    if (rc)
        return rc;
    out->sequence = (uint64_t)col_int(&q);
    col_bytes(&q, out->hash, sizeof out->hash);
    stmt_end(&q);
    return 0;
}

static void bind_id(struct stmt *q, const struct hw_id *id)
{
    stmt_id(q, id_is_zero(id) ? NULL : id);
}

int store_audit_append(struct db *db, const struct store_audit *a, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO audit (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
    stmt_int(&q, (int64_t)a->sequence);
    stmt_text(&q, a->record);
    stmt_blob(&q, a->hash, sizeof a->hash);
    stmt_int(&q, a->at);
    bind_id(&q, &a->actor_id);
    stmt_text(&q, a->object_type);
    bind_id(&q, &a->object_id);
    stmt_int(&q, a->refused);
    int rc = stmt_run(&q, NULL, e);
    if (rc)
        return rc;
    q = stmt_get(db, "UPDATE audit_head SET sequence = ?, hash = ? WHERE one = 1");
    stmt_int(&q, (int64_t)a->sequence);
    stmt_blob(&q, a->hash, sizeof a->hash);
    rc = stmt_run(&q, NULL, e);
    db->audited = rc == 0;
    return rc;
}

static int read_row(struct stmt *q, struct store_audit *a, struct err *e)
{
    a->sequence = (uint64_t)col_int(q);
    a->record = col_text_dup(q);
    col_bytes(q, a->hash, sizeof a->hash);
    a->at = col_int(q);
    col_id(q, &a->actor_id);
    col_text(q, a->object_type, sizeof a->object_type);
    col_id(q, &a->object_id);
    a->refused = col_int(q) != 0;
    return a->record ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

/* What the index is chosen by stands alone, the rest behind it. */
#define SELECT(lead, direction, order)                                                             \
    stmt_get(db, "SELECT " COLUMNS " FROM audit WHERE " lead " AND " direction                     \
                 " AND (?2 IS NULL OR actor_id = ?2) AND (?3 IS NULL OR object_id = ?3)"           \
                 " AND (?4 IS NULL OR object_type = ?4) AND (?5 < 0 OR refused = ?5)"              \
                 " AND at >= ?6 AND (?7 = 0 OR at < ?7) ORDER BY sequence " order " LIMIT ?8")
#define OLDEST(lead) SELECT(lead, "sequence > ?1", "ASC")
#define NEWEST(lead) SELECT(lead, "(?1 = 0 OR sequence < ?1)", "DESC")

static struct stmt list_stmt(struct db *db, const struct store_audit_filter *f)
{
    struct stmt q;
    if (!id_is_zero(&f->object_id))
        q = f->oldest_first ? OLDEST("object_id = ?3") : NEWEST("object_id = ?3");
    else if (!id_is_zero(&f->actor_id))
        q = f->oldest_first ? OLDEST("actor_id = ?2") : NEWEST("actor_id = ?2");
    else
        q = f->oldest_first ? OLDEST("1") : NEWEST("1");
    stmt_int(&q, (int64_t)f->after);
    bind_id(&q, &f->actor_id);
    bind_id(&q, &f->object_id);
    stmt_text(&q, f->object_type);
    stmt_int(&q, f->by_refused ? f->refused : -1);
    stmt_int(&q, f->from);
    stmt_int(&q, f->to);
    stmt_int(&q, f->limit);
    return q;
}

int store_audit_list(struct db *db, const struct store_audit_filter *f, struct store_audit **out,
                     size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = list_stmt(db, f);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_audit *a = rows_add(&list, &count, sizeof *a);
        rc = a ? read_row(&q, a, e) : err_set(e, HW_ENOMEM, "out of memory");
        if (rc)
            break;
    }
    stmt_end(&q);
    if (rc < 0) {
        store_audit_list_done(list, count);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

int store_audit_get(struct db *db, uint64_t sequence, struct store_audit *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM audit WHERE sequence = ?");
    stmt_int(&q, (int64_t)sequence);
    int rc = stmt_one(&q, "audit record", e);
    if (rc)
        return rc;
    *out = (struct store_audit){0};
    rc = read_row(&q, out, e);
    stmt_end(&q);
    return rc;
}

static int take_sequence(struct stmt *q, uint64_t *sequence, struct err *e)
{
    int rc = stmt_one(q, "audit record", e);
    if (rc)
        return rc;
    *sequence = (uint64_t)col_int(q);
    stmt_end(q);
    return 0;
}

int store_audit_first_since(struct db *db, int64_t at, uint64_t *sequence, struct err *e)
{
    struct stmt q =
        stmt_get(db, "SELECT sequence FROM audit WHERE +at >= ? ORDER BY sequence LIMIT 1");
    stmt_int(&q, at);
    return take_sequence(&q, sequence, e);
}

int store_audit_oldest(struct db *db, uint64_t *sequence, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT sequence FROM audit ORDER BY sequence LIMIT 1");
    return take_sequence(&q, sequence, e);
}

int store_audit_prune(struct db *db, uint64_t through, struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM audit WHERE sequence <= ?");
    stmt_int(&q, (int64_t)through);
    return stmt_run(&q, NULL, e);
}
