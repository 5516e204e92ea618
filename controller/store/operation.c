#include "controller/store/operation.h"
#include "controller/store/stmt.h"
#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                    \
    "id, number, kind, state, gateway_id, request, error_code, error_text, cancelled_at,"          \
    " created_by, created_at, started_at, finished_at, expires_at"

static const char *const states[] = {"queued", "running",   "succeeded",
                                     "failed", "cancelled", "expired"};
#define STATES (sizeof states / sizeof *states)

const char *operation_state_name(enum operation_state s)
{
    return states[s];
}

int operation_state_by_name(const char *name)
{
    for (size_t i = 0; i < STATES; i++)
        if (!strcmp(states[i], name))
            return (int)i;
    return HW_EINVAL;
}

void store_operation_done(struct store_operation *o)
{
    free(o->request);
    free(o->result);
    o->request = o->result = NULL;
}

void store_operation_free(struct store_operation *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store_operation_done(&list[i]);
    free(list);
}

static enum operation_state col_state(struct stmt *q)
{
    char name[16];
    col_text(q, name, sizeof name);
    int state = operation_state_by_name(name);
    return state < 0 ? OPERATION_FAILED : (enum operation_state)state;
}

static void read_operation(struct stmt *q, struct store_operation *o)
{
    col_id(q, &o->id);
    o->number = col_int(q);
    col_text(q, o->kind, sizeof o->kind);
    o->state = col_state(q);
    col_id(q, &o->gateway_id);
    o->request = col_text_dup(q);
    col_text(q, o->error_code, sizeof o->error_code);
    col_text(q, o->error_text, sizeof o->error_text);
    o->cancelled_at = col_int(q);
    col_id(q, &o->created_by);
    o->created_at = col_int(q);
    o->started_at = col_int(q);
    o->finished_at = col_int(q);
    o->expires_at = col_int(q);
}

static int next_number(struct db *db, int64_t *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT coalesce(max(number), 0) + 1 FROM operations");
    int rc = stmt_one(&q, "number", e);
    if (rc)
        return rc;
    *out = col_int(&q);
    stmt_end(&q);
    return 0;
}

int store_operation_insert(struct db *db, struct store_operation *o, struct err *e)
{
    int rc = next_number(db, &o->number, e);
    if (rc)
        return rc;
    struct stmt q =
        stmt_get(db, "INSERT INTO operations (id, number, kind, state, gateway_id, request,"
                     " result, error_code, error_text, cancelled_at, created_by, created_at,"
                     " started_at, finished_at, expires_at)"
                     " VALUES (?, ?, ?, ?, ?, ?, NULL, '', '', 0, ?, ?, 0, 0, ?)");
    stmt_id(&q, &o->id);
    stmt_int(&q, o->number);
    stmt_text(&q, o->kind);
    stmt_text(&q, states[o->state]);
    stmt_id(&q, &o->gateway_id);
    stmt_text(&q, o->request);
    stmt_id(&q, &o->created_by);
    stmt_int(&q, o->created_at);
    stmt_int(&q, o->expires_at);
    return stmt_run(&q, NULL, e);
}

int store_operation_update(struct db *db, const struct store_operation *o, struct err *e)
{
    int changed = 0;
    struct stmt q =
        stmt_get(db, "UPDATE operations SET state = ?, result = ?, error_code = ?,"
                     " error_text = ?, cancelled_at = ?, started_at = ?, finished_at = ?"
                     " WHERE id = ?");
    stmt_text(&q, states[o->state]);
    stmt_text(&q, o->result);
    stmt_text(&q, o->error_code);
    stmt_text(&q, o->error_text);
    stmt_int(&q, o->cancelled_at);
    stmt_int(&q, o->started_at);
    stmt_int(&q, o->finished_at);
    stmt_id(&q, &o->id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such operation");
}

int store_operation_get(struct db *db, const struct hw_id *id, struct store_operation *out,
                        struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS ", result FROM operations WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "operation", e);
    if (rc)
        return rc;
    *out = (struct store_operation){0};
    read_operation(&q, out);
    out->result = col_text_dup(&q);
    stmt_end(&q);
    return 0;
}

int store_operation_list(struct db *db, const struct store_page *page,
                         const struct operation_filter *filter, struct store_operation **out,
                         size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    char *end = NULL;
    long long before = page->after ? strtoll(page->after, &end, 10) : INT64_MAX;
    if (page->after && (*end || before <= 0))
        return err_set_field(e, HW_EINVAL, "cursor", "not a cursor of this list");
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM operations WHERE number < ?1"
                                 " AND (?3 IS NULL OR kind = ?3) AND (?4 IS NULL OR state = ?4)"
                                 " AND (?5 IS NULL OR gateway_id = ?5)"
                                 " AND (?6 = 0 OR finished_at = 0)"
                                 " ORDER BY number DESC LIMIT ?2");
    stmt_int(&q, before);
    stmt_int(&q, page->limit);
    stmt_text(&q, filter->kind);
    stmt_text(&q, filter->state < 0 ? NULL : states[filter->state]);
    stmt_id(&q, filter->gateway_id);
    stmt_int(&q, filter->open);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_operation *o = rows_add(&list, &count, sizeof *o);
        if (!o) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_operation(&q, o);
    }
    stmt_end(&q);
    if (rc < 0) {
        store_operation_free(list, count);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

int store_operation_expire(struct db *db, int64_t before, unsigned keep, struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM operations WHERE finished_at > 0 AND"
                                 " (finished_at < ? OR number <="
                                 " (SELECT max(number) FROM operations) - ?)");
    stmt_int(&q, before);
    stmt_int(&q, keep);
    return stmt_run(&q, NULL, e);
}
