#include "controller/store/size.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

#define COLUMNS                                                                                    \
    "id, size_id, published, position, source, role, mtu, tcp_streams, encryption,"                \
    " IFNULL(gro, -1), metric, unit, value, IFNULL(throughput_bps, 0), note, method,"              \
    " IFNULL(spread_bps, -1), runs, measured_at, created_at"

static void read_figure(struct stmt *q, struct store_figure *f)
{
    col_id(q, &f->id);
    col_id(q, &f->size_id);
    f->published = col_int(q) != 0;
    f->position = (unsigned)col_int(q);
    col_text(q, f->source, sizeof f->source);
    col_text(q, f->role, sizeof f->role);
    f->mtu = (unsigned)col_int(q);
    f->tcp_streams = (unsigned)col_int(q);
    col_text(q, f->encryption, sizeof f->encryption);
    f->gro = (int)col_int(q);
    col_text(q, f->metric, sizeof f->metric);
    col_text(q, f->unit, sizeof f->unit);
    f->value = col_double(q);
    f->throughput_bps = col_double(q);
    col_text(q, f->note, sizeof f->note);
    col_text(q, f->method, sizeof f->method);
    f->spread_bps = col_double(q);
    f->runs = (unsigned)col_int(q);
    f->measured_at = col_int(q);
    f->created_at = col_int(q);
}

int store_figure_insert(struct db *db, const struct store_figure *f, struct err *e)
{
    struct stmt q =
        stmt_get(db, "INSERT INTO size_figures (id, size_id, published, position, source, role,"
                     " mtu, tcp_streams, encryption, gro, metric, unit, value, throughput_bps,"
                     " note, method, spread_bps, runs, measured_at, created_at)"
                     " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULLIF(?, -1), ?, ?, ?, NULLIF(?, 0),"
                     " ?, ?, NULLIF(?, -1), ?, ?, ?)");
    stmt_id(&q, &f->id);
    stmt_id(&q, &f->size_id);
    stmt_int(&q, f->published);
    stmt_int(&q, f->position);
    stmt_text(&q, f->source);
    stmt_text(&q, f->role);
    stmt_int(&q, f->mtu);
    stmt_int(&q, f->tcp_streams);
    stmt_text(&q, f->encryption);
    stmt_int(&q, f->gro);
    stmt_text(&q, f->metric);
    stmt_text(&q, f->unit);
    stmt_double(&q, f->value);
    stmt_double(&q, f->throughput_bps);
    stmt_text(&q, f->note);
    stmt_text(&q, f->method);
    stmt_double(&q, f->spread_bps);
    stmt_int(&q, f->runs);
    stmt_int(&q, f->measured_at);
    stmt_int(&q, store_now(db));
    return stmt_run(&q, NULL, e);
}

int store_figure_delete(struct db *db, const struct hw_id *id, struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM size_figures WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_run(&q, &changed, e);
    return rc || changed ? rc : err_set(e, HW_ENOTFOUND, "no such figure");
}

int store_figure_delete_published(struct db *db, struct err *e)
{
    struct stmt q = stmt_get(db, "DELETE FROM size_figures WHERE published = 1");
    return stmt_run(&q, NULL, e);
}

int store_figure_get(struct db *db, const struct hw_id *id, struct store_figure *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM size_figures WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "figure", e);
    if (rc)
        return rc;
    *out = (struct store_figure){0};
    read_figure(&q, out);
    stmt_end(&q);
    return 0;
}

int store_figure_list(struct db *db, const struct hw_id *size_id, struct store_figure **out,
                      size_t *n, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM size_figures WHERE size_id = ?"
                                 " ORDER BY published, position, measured_at DESC, id");
    stmt_id(&q, size_id);
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_figure *f = rows_add(&list, &count, sizeof *f);
        if (!f) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_figure(&q, f);
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
