#include "controller/telemetry/last.h"
#include "common/cleanup.h"
#include "controller/store/telemetry.h"
#include "controller/store/telemetry_row.h"
#include "controller/telemetry/keeper.h"
#include "controller/telemetry/status.h"
#include <string.h>

void last_done(struct last *l)
{
    report_done(&l->report);
    pack_row_done(&l->row);
}

/* A row of another second is of another report. */
static int take_row(void *arg, const struct store_telemetry_row *row, struct err *e)
{
    struct last *l = arg;
    (void)e;
    if (row->at == l->observed_at && keeper_decode(row, true, &l->row, NULL))
        l->row = (struct pack_row){0};
    return 0;
}

int last_read(struct db *db, const struct hw_id *gateway, struct last *out, struct err *e)
{
    struct store_telemetry t;
    auto_free char *json = NULL;
    int rc = store_telemetry_last(db, gateway, &t, e);
    if (rc)
        return rc;
    struct last l = {.observed_at = t.observed_at,
                     .stale = status_is_stale(t.observed_at, t.interval_seconds, store_now(db))};
    store_telemetry_done(&t);
    rc = store_telemetry_report(db, gateway, &json, e);
    rc = rc ? rc : report_decode(json, strlen(json), &l.report, e);
    rc = rc ? rc : store_telemetry_row_newest(db, gateway, take_row, &l, e);
    if (rc)
        last_done(&l);
    else
        *out = l;
    return rc;
}

const struct report_link *last_link(const struct last *l, const struct hw_id *link)
{
    for (size_t i = 0; i < l->report.n_links; i++)
        if (id_equal(&l->report.links[i].link_id, link))
            return &l->report.links[i];
    return NULL;
}

const struct pack_tunnel *last_tunnel(const struct last *l, const struct hw_id *link,
                                      unsigned number)
{
    for (size_t i = 0; i < l->row.n_tunnels; i++) {
        const struct pack_tunnel *t = &l->row.tunnels[i];
        if (t->number == number && id_equal(&l->row.links[t->link].id, link))
            return t;
    }
    return NULL;
}
