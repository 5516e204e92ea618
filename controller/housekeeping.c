#include "controller/housekeeping.h"
#include "common/clock.h"
#include "common/log.h"
#include "controller/app.h"
#include "controller/ca/ca.h"
#include "controller/store/denial.h"
#include "controller/store/idempotency.h"
#include "controller/store/store.h"
#include "controller/store/telemetry.h"
#include <stdlib.h>

#define HISTORY_S       86400 /* raw rows are kept this long */
#define HISTORY_BATCH   2000  /* rows removed in one transaction: the writer is not held long */
#define HISTORY_EVERY_S 60
#define RENEW_EVERY_S   3600

_Static_assert(DENIAL_KEPT_S > CA_RENEW_GRACE_S, "a denied certificate could renew");

struct housekeeping {
    struct app *app;
    struct ev_timer *history, *renewal;
};

/* Rows of the history removed. */
static unsigned expire_batch(struct app *app)
{
    struct err e = {0};
    struct db *db;
    unsigned history = 0, answers = 0;
    int64_t now = clock_wall_s();
    int rc = store_begin(app->store, STORE_TELEMETRY, &db, &e);
    if (!rc) {
        rc = store_history_expire(db, now - HISTORY_S, HISTORY_BATCH, &history, &e);
        if (!rc)
            rc = store_answer_expire(db, now, &answers, &e);
        if (!rc && (history || answers))
            rc = store_commit(db, &e);
        else
            store_rollback(db);
    }
    if (rc)
        log_warn_limited("nothing expired: %s", e.text);
    return rc ? 0 : history;
}

/* A full batch means that there may be more: again in a second, so that others write in between. */
static void on_history(void *arg)
{
    struct housekeeping *h = arg;
    unsigned removed = expire_batch(h->app);
    evloop_timer_arm(h->history, (removed == HISTORY_BATCH ? 1 : HISTORY_EVERY_S) * NS_PER_S);
}

/* Nothing is published for it: what agents know more is of no harm. */
static void prune_denials(struct app *app)
{
    struct err e = {0};
    struct db *db;
    unsigned removed = 0;
    int rc = store_begin(app->store, STORE_TELEMETRY, &db, &e);
    if (rc) {
        log_warn_limited("denials not pruned: %s", e.text);
        return;
    }
    rc = store_denial_prune(db, clock_wall_s(), &removed, &e);
    if (rc)
        store_rollback(db);
    else
        rc = store_commit(db, &e);
    if (rc)
        log_warn_limited("denials not pruned: %s", e.text);
    else if (removed)
        log_info("denials pruned n=%u", removed);
}

static void on_renewal(void *arg)
{
    struct housekeeping *h = arg;
    struct err e = {0};
    prune_denials(h->app);
    if (app_renew_certificates(h->app, &e))
        log_error("certificates not renewed: %s", e.text);
    evloop_timer_arm(h->renewal, RENEW_EVERY_S * NS_PER_S);
}

int housekeeping_start(struct app *app, struct evloop *loop, struct housekeeping **out,
                       struct err *e)
{
    struct housekeeping *h = calloc(1, sizeof *h);
    if (!h)
        return err_set(e, HW_ENOMEM, "out of memory");
    h->app = app;
    h->history = evloop_timer_add(loop, on_history, h);
    h->renewal = evloop_timer_add(loop, on_renewal, h);
    if (!h->history || !h->renewal) {
        housekeeping_stop(h);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    evloop_timer_arm(h->history, HISTORY_EVERY_S * NS_PER_S);
    evloop_timer_arm(h->renewal, 0); /* the controller may have been off for long */
    *out = h;
    return 0;
}

void housekeeping_stop(struct housekeeping *h)
{
    if (!h)
        return;
    if (h->history)
        evloop_timer_remove(h->history);
    if (h->renewal)
        evloop_timer_remove(h->renewal);
    free(h);
}
