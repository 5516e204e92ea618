#include "controller/store/telemetry.h"
#include "controller/store/stmt.h"
#include <math.h>
#include <stdlib.h>

#define COLUMNS                                                                                    \
    "gateway_id, observed_at, received, applied, in_force, refused, denials_revision,"             \
    " interval_seconds, goodput_tx_bps, goodput_rx_bps, wire_tx_bps, wire_rx_bps, links_up,"       \
    " links_degraded, links_down, dataplane_connected, busy_ratio, problem"

void store_telemetry_done(struct store_telemetry *t)
{
    free(t->refused_json);
    t->refused_json = NULL;
}

void store_telemetry_free(struct store_telemetry *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        store_telemetry_done(&rows[i]);
    free(rows);
}

/* SQLite keeps NaN as NULL. */
static double col_known(struct stmt *q)
{
    bool known = sqlite3_column_type(q->s, q->column) != SQLITE_NULL;
    double v = col_double(q);
    return known ? v : NAN;
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
    struct stmt q = stmt_get(db, "INSERT OR REPLACE INTO telemetry_last (" COLUMNS ", report)"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                                 " ?)");
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
    stmt_double(&q, t->busy_ratio);
    stmt_text(&q, t->problem);
    stmt_text(&q, t->report_json);
    return stmt_run(&q, NULL, e);
}

int store_telemetry_put(struct db *db, const struct store_telemetry *t, struct err *e)
{
    int rc = gateway_exists(db, &t->gateway_id, e);
    return rc ? rc : put_last(db, t, e);
}

static int read_last(struct stmt *q, struct store_telemetry *out, struct err *e)
{
    struct store_telemetry t = {0};
    col_id(q, &t.gateway_id);
    t.observed_at = col_int(q);
    t.received = (uint64_t)col_int(q);
    t.applied = (uint64_t)col_int(q);
    t.in_force = (uint64_t)col_int(q);
    t.refused_json = col_text_dup(q);
    t.denials_revision = (uint64_t)col_int(q);
    t.interval_seconds = col_double(q);
    t.goodput_tx_bps = col_double(q);
    t.goodput_rx_bps = col_double(q);
    t.wire_tx_bps = col_double(q);
    t.wire_rx_bps = col_double(q);
    t.links_up = (unsigned)col_int(q);
    t.links_degraded = (unsigned)col_int(q);
    t.links_down = (unsigned)col_int(q);
    t.dataplane_connected = col_int(q) != 0;
    t.busy_ratio = col_known(q);
    col_text(q, t.problem, sizeof t.problem);
    if (!t.refused_json)
        return err_set(e, HW_ENOMEM, "out of memory");
    *out = t;
    return 0;
}

int store_telemetry_last(struct db *db, const struct hw_id *gateway_id, struct store_telemetry *out,
                         struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM telemetry_last WHERE gateway_id = ?");
    stmt_id(&q, gateway_id);
    int rc = stmt_one(&q, "report", e);
    if (rc)
        return rc;
    rc = read_last(&q, out, e);
    stmt_end(&q);
    return rc;
}

int store_telemetry_all(struct db *db, struct store_telemetry **out, size_t *n, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT " COLUMNS " FROM telemetry_last ORDER BY gateway_id");
    void *rows = NULL;
    size_t count = 0;
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_telemetry *t = rows_add(&rows, &count, sizeof *t);
        rc = t ? read_last(&q, t, e) : err_set(e, HW_ENOMEM, "out of memory");
        if (rc)
            break;
    }
    stmt_end(&q);
    if (rc) {
        store_telemetry_free(rows, count);
        return rc;
    }
    *out = rows;
    *n = count;
    return 0;
}

int store_telemetry_report(struct db *db, const struct hw_id *gateway_id, char **json,
                           struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT report FROM telemetry_last WHERE gateway_id = ?");
    stmt_id(&q, gateway_id);
    int rc = stmt_one(&q, "report", e);
    if (rc)
        return rc;
    *json = col_text_dup(&q);
    stmt_end(&q);
    return *json ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

int store_telemetry_next_gateway(struct db *db, const struct hw_id *after, struct hw_id *out,
                                 struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT gateway_id FROM telemetry_last WHERE gateway_id > ?"
                                 " ORDER BY gateway_id LIMIT 1");
    stmt_id(&q, after);
    int rc = stmt_one(&q, "gateway", e);
    if (rc)
        return rc;
    col_id(&q, out);
    stmt_end(&q);
    return 0;
}

int store_link_status_put(struct db *db, const struct store_link_status *s, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT OR REPLACE INTO link_status"
                                 " SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
                                 " ?13 FROM links WHERE id = ?1"
                                 " AND (gateway_a_id = ?2 OR gateway_b_id = ?2)");
    stmt_id(&q, &s->link_id);
    stmt_id(&q, &s->gateway_id);
    stmt_int(&q, s->observed_at);
    stmt_text(&q, s->state);
    stmt_text(&q, s->reason);
    stmt_int(&q, s->tunnels_up);
    stmt_int(&q, s->tunnels_total);
    stmt_int(&q, s->suite);
    stmt_int(&q, s->mtu);
    stmt_double(&q, s->tx_bps);
    stmt_double(&q, s->rx_bps);
    stmt_double(&q, s->rtt_us);
    stmt_double(&q, s->loss_ratio);
    return stmt_run(&q, NULL, e);
}

#define LINK_STATUS                                                                                \
    "SELECT s.link_id, s.gateway_id, s.observed_at, s.state, s.reason, s.tunnels_up,"              \
    " s.tunnels_total, s.suite, s.mtu, s.tx_bps, s.rx_bps, s.rtt_us, s.loss_ratio, g.name,"        \
    " COALESCE(t.interval_seconds, 0) FROM link_status s JOIN gateways g ON g.id = s.gateway_id"   \
    " LEFT JOIN telemetry_last t ON t.gateway_id = s.gateway_id "

static void read_link_status(struct stmt *q, struct store_link_status *s)
{
    col_id(q, &s->link_id);
    col_id(q, &s->gateway_id);
    s->observed_at = col_int(q);
    col_text(q, s->state, sizeof s->state);
    col_text(q, s->reason, sizeof s->reason);
    s->tunnels_up = (unsigned)col_int(q);
    s->tunnels_total = (unsigned)col_int(q);
    s->suite = (unsigned)col_int(q);
    s->mtu = (uint32_t)col_int(q);
    s->tx_bps = col_double(q);
    s->rx_bps = col_double(q);
    s->rtt_us = col_known(q);
    s->loss_ratio = col_known(q);
    col_text(q, s->gateway, sizeof s->gateway);
    s->interval_seconds = col_double(q);
}

int store_link_status_get(struct db *db, const struct hw_id *link_id,
                          struct store_link_status out[2], size_t *n, struct err *e)
{
    struct stmt q = stmt_get(db, LINK_STATUS "WHERE s.link_id = ? ORDER BY s.gateway_id LIMIT 2");
    stmt_id(&q, link_id);
    size_t count = 0;
    int rc;
    while ((rc = stmt_row(&q, e)) == 1 && count < 2)
        read_link_status(&q, &out[count++]);
    stmt_end(&q);
    if (rc < 0)
        return rc;
    *n = count;
    return 0;
}

int store_link_status_all(struct db *db, struct store_link_status **out, size_t *n, struct err *e)
{
    struct stmt q = stmt_get(db, LINK_STATUS "ORDER BY s.link_id, s.gateway_id");
    void *rows = NULL;
    size_t count = 0;
    int rc;
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_link_status *s = rows_add(&rows, &count, sizeof *s);
        if (!s) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        read_link_status(&q, s);
    }
    stmt_end(&q);
    if (rc) {
        free(rows);
        return rc;
    }
    *out = rows;
    *n = count;
    return 0;
}
