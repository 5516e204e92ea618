#include "controller/store/telemetry.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

#define COLUMNS                                                                                    \
    "gateway_id, observed_at, received, applied, in_force, refused, denials_revision,"             \
    " interval_seconds, goodput_tx_bps, goodput_rx_bps, wire_tx_bps, wire_rx_bps, links_up,"       \
    " links_degraded, links_down, dataplane_connected, report"

void store_telemetry_done(struct store_telemetry *t)
{
    free(t->refused_json);
    free(t->report_json);
    t->refused_json = t->report_json = NULL;
}

static int gateway_exists(struct db *db, const struct hw_id *id, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT 1 FROM gateways WHERE id = ?");
    stmt_id(&q, id);
    int rc = stmt_one(&q, "gateway", e);
    stmt_end(&q);
    return rc;
}

static int put_last(struct db *db, const struct store_telemetry *t, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT OR REPLACE INTO telemetry_last (" COLUMNS ")"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, &t->gateway_id);
    stmt_int(&q, t->observed_at);
    stmt_int(&q, (int64_t)t->received);
    stmt_int(&q, (int64_t)t->applied);
    stmt_int(&q, (int64_t)t->in_force);
    stmt_text(&q, t->refused_json);
    stmt_int(&q, (int64_t)t->denials_revision);
    stmt_double(&q, t->interval_seconds);
    stmt_double(&q, t->goodput_tx_bps);
    stmt_double(&q, t->goodput_rx_bps);
    stmt_double(&q, t->wire_tx_bps);
    stmt_double(&q, t->wire_rx_bps);
    stmt_int(&q, t->links_up);
    stmt_int(&q, t->links_degraded);
    stmt_int(&q, t->links_down);
    stmt_int(&q, t->dataplane_connected);
    stmt_text(&q, t->report_json);
    return stmt_run(&q, NULL, e);
}

int store_telemetry_put(struct db *db, const struct store_telemetry *t, struct err *e)
{
    int rc = gateway_exists(db, &t->gateway_id, e);
    if (!rc)
        rc = put_last(db, t, e);
    if (rc)
        return rc;
    struct stmt q =
        stmt_get(db, "DELETE FROM telemetry_history WHERE observed_at = ?2 AND row_id ="
                     " (SELECT MAX(row_id) FROM telemetry_history WHERE gateway_id = ?1)");
    stmt_id(&q, &t->gateway_id);
    stmt_int(&q, t->observed_at);
    rc = stmt_run(&q, NULL, e);
    if (rc)
        return rc;
    q = stmt_get(db, "INSERT INTO telemetry_history (gateway_id, observed_at, report)"
                     " VALUES (?, ?, ?)");
    stmt_id(&q, &t->gateway_id);
    stmt_int(&q, t->observed_at);
    stmt_text(&q, t->report_json);
    return stmt_run(&q, NULL, e);
}

int store_telemetry_last(struct db *db, const struct hw_id *gateway_id, struct store_telemetry *out,
                         struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM telemetry_last WHERE gateway_id = ?");
    stmt_id(&q, gateway_id);
    int rc = stmt_one(&q, "report", e);
    if (rc)
        return rc;
    struct store_telemetry t = {0};
    col_id(&q, &t.gateway_id);
    t.observed_at = col_int(&q);
    t.received = (uint64_t)col_int(&q);
    t.applied = (uint64_t)col_int(&q);
    t.in_force = (uint64_t)col_int(&q);
    t.refused_json = col_text_dup(&q);
    t.denials_revision = (uint64_t)col_int(&q);
    t.interval_seconds = col_double(&q);
    t.goodput_tx_bps = col_double(&q);
    t.goodput_rx_bps = col_double(&q);
    t.wire_tx_bps = col_double(&q);
    t.wire_rx_bps = col_double(&q);
    t.links_up = (unsigned)col_int(&q);
    t.links_degraded = (unsigned)col_int(&q);
    t.links_down = (unsigned)col_int(&q);
    t.dataplane_connected = col_int(&q) != 0;
    t.report_json = col_text_dup(&q);
    stmt_end(&q);
    if (!t.refused_json || !t.report_json) {
        store_telemetry_done(&t);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    *out = t;
    return 0;
}

int store_link_status_put(struct db *db, const struct store_link_status *s, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT OR REPLACE INTO link_status"
                                 " SELECT id, ?2, ?3, ?4, ?5, ?6, ?7 FROM links WHERE id = ?1"
                                 " AND (gateway_a_id = ?2 OR gateway_b_id = ?2)");
    stmt_id(&q, &s->link_id);
    stmt_id(&q, &s->gateway_id);
    stmt_int(&q, s->observed_at);
    stmt_text(&q, s->state);
    stmt_text(&q, s->reason);
    stmt_int(&q, s->tunnels_up);
    stmt_int(&q, s->tunnels_total);
    return stmt_run(&q, NULL, e);
}

int store_link_status_get(struct db *db, const struct hw_id *link_id,
                          struct store_link_status out[2], size_t *n, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT link_id, gateway_id, observed_at, state, reason,"
                                 " tunnels_up, tunnels_total FROM link_status WHERE link_id = ?"
                                 " ORDER BY gateway_id LIMIT 2");
    stmt_id(&q, link_id);
    size_t count = 0;
    int rc;
    while ((rc = stmt_row(&q, e)) == 1 && count < 2) {
        struct store_link_status *s = &out[count++];
        col_id(&q, &s->link_id);
        col_id(&q, &s->gateway_id);
        s->observed_at = col_int(&q);
        col_text(&q, s->state, sizeof s->state);
        col_text(&q, s->reason, sizeof s->reason);
        s->tunnels_up = (unsigned)col_int(&q);
        s->tunnels_total = (unsigned)col_int(&q);
    }
    stmt_end(&q);
    if (rc < 0)
        return rc;
    *n = count;
    return 0;
}

void store_history_free(struct store_history_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(rows[i].report_json);
    free(rows);
}

int store_history_list(struct db *db, const struct hw_id *gateway_id, int64_t before,
                       unsigned limit, size_t max_bytes, struct store_history_row **out, size_t *n,
                       struct err *e)
{
    void *list = NULL;
    size_t count = 0, bytes = 0;
    struct stmt q = stmt_get(db, "SELECT row_id, observed_at, report FROM telemetry_history"
                                 " WHERE gateway_id = ? AND row_id < ?"
                                 " ORDER BY row_id DESC LIMIT ?");
    stmt_id(&q, gateway_id);
    stmt_int(&q, before ? before : INT64_MAX);
    stmt_int(&q, limit);
    int rc = 0;
    while (bytes <= max_bytes && (rc = stmt_row(&q, e)) == 1) {
        struct store_history_row *row = rows_add(&list, &count, sizeof *row);
        if (row) {
            row->row_id = col_int(&q);
            row->observed_at = col_int(&q);
            row->report_json = col_text_dup(&q);
        }
        if (!row || !row->report_json) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        bytes += strlen(row->report_json);
    }
    stmt_end(&q);
    if (rc < 0) {
        store_history_free(list, count);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

int store_history_expire(struct db *db, int64_t cutoff, unsigned max, unsigned *removed,
                         struct err *e)
{
    int changed = 0;
    struct stmt q = stmt_get(db, "DELETE FROM telemetry_history WHERE row_id IN"
                                 " (SELECT row_id FROM telemetry_history WHERE observed_at < ?"
                                 " ORDER BY observed_at LIMIT ?)");
    stmt_int(&q, cutoff);
    stmt_int(&q, max);
    int rc = stmt_run(&q, &changed, e);
    if (!rc)
        *removed = (unsigned)changed;
    return rc;
}
