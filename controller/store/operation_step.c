#include "controller/store/operation.h"
#include "controller/store/stmt.h"
#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                    \
    "id, operation_id, position, name, gateway_id, state, params, sequence, done, total,"          \
    " progress, error_code, error_text, started_at, reported_at, finished_at"

void store_step_done(struct store_step *s)
{
    free(s->params);
    free(s->result);
    s->params = s->result = NULL;
}

void store_step_free(struct store_step *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store_step_done(&list[i]);
    free(list);
}

static void read_step(struct stmt *q, struct store_step *s)
{
    char state[16];
    col_id(q, &s->id);
    col_id(q, &s->operation_id);
    s->position = (unsigned)col_int(q);
    col_text(q, s->name, sizeof s->name);
    col_id(q, &s->gateway_id);
    col_text(q, state, sizeof state);
    int known = operation_state_by_name(state);
    s->state = known < 0 ? OPERATION_FAILED : (enum operation_state)known;
    s->params = col_text_dup(q);
    s->sequence = (uint64_t)col_int(q);
    s->done = (unsigned)col_int(q);
    s->total = (unsigned)col_int(q);
    col_text(q, s->progress, sizeof s->progress);
    col_text(q, s->error_code, sizeof s->error_code);
    col_text(q, s->error_text, sizeof s->error_text);
    s->started_at = col_int(q);
    s->reported_at = col_int(q);
    s->finished_at = col_int(q);
}

int store_step_insert(struct db *db, const struct store_step *s, struct err *e)
{
    struct stmt q =
        stmt_get(db, "INSERT INTO operation_commands (id, operation_id, position, name,"
                     " gateway_id, state, params, sequence, done, total, progress, result,"
                     " error_code, error_text, started_at, reported_at, finished_at)"
                     " VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, '', NULL, '', '', 0, 0, 0)");
    stmt_id(&q, &s->id);
    stmt_id(&q, &s->operation_id);
    stmt_int(&q, s->position);
    stmt_text(&q, s->name);
    stmt_id(&q, &s->gateway_id);
    stmt_text(&q, operation_state_name(s->state));
    stmt_text(&q, s->params);
    return stmt_run(&q, NULL, e);
}

int store_step_update(struct db *db, const struct store_step *s, struct err *e)
{
    int changed = 0;
    struct stmt q =
        stmt_get(db, "UPDATE operation_commands SET state = ?, sequence = ?, done = ?, total = ?,"
                     " progress = ?, result = ?, error_code = ?, error_text = ?, started_at = ?,"
                     " reported_at = ?, finished_at = ? WHERE id = ?");
    stmt_text(&q, operation_state_name(s->state));
    stmt_int(&q, (int64_t)s->sequence);
    stmt_int(&q, s->done);
    stmt_int(&q, s->total);
    stmt_text(&q, s->progress);
    stmt_text(&q, s->result);
    stmt_text(&q, s->error_code);
    stmt_text(&q, s->error_text);
    stmt_int(&q, s->started_at);
    stmt_int(&q, s->reported_at);
    stmt_int(&q, s->finished_at);
    stmt_id(&q, &s->id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such command");
}

int store_step_get(struct db *db, const struct hw_id *id, struct store_step *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS ", result FROM operation_commands WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "command", e);
    if (rc)
        return rc;
    *out = (struct store_step){0};
    read_step(&q, out);
    out->result = col_text_dup(&q);
    stmt_end(&q);
    return 0;
}

static int read_list(struct stmt *q, bool with_result, struct store_step **out, size_t *n,
                     struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    int rc;
    while ((rc = stmt_row(q, e)) == 1) {
        struct store_step *s = rows_add(&list, &count, sizeof *s);
        if (!s) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_step(q, s);
        if (with_result)
            s->result = col_text_dup(q);
    }
    stmt_end(q);
    if (rc < 0) {
        store_step_free(list, count);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

int store_step_list(struct db *db, const struct hw_id *operation_id, struct store_step **out,
                    size_t *n, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS ", result FROM operation_commands"
                                 " WHERE operation_id = ? ORDER BY position");
    stmt_id(&q, operation_id);
    return read_list(&q, true, out, n, e);
}

int store_step_open(struct db *db, const struct hw_id *gateway_id, struct store_step **out,
                    size_t *n, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM operation_commands"
                                 " WHERE gateway_id = ? AND finished_at = 0 ORDER BY rowid");
    stmt_id(&q, gateway_id);
    return read_list(&q, false, out, n, e);
}
