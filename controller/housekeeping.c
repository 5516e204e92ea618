#include "controller/housekeeping.h"
#include "common/clock.h"
#include "common/log.h"
#include "controller/app.h"
#include "controller/store/store.h"
#include "controller/store/telemetry.h"
#include <stdlib.h>

#define HISTORY_S       86400 /* raw rows are kept this long */
#define HISTORY_BATCH   2000  /* rows removed in one transaction: the writer is not held long */
#define HISTORY_EVERY_S 60
#define RENEW_EVERY_S   3600

struct housekeeping {
    struct app *app;
    struct ev_timer *history, *renewal;
};

static unsigned expire_batch(struct app *app)
{
    struct err e = {0};
    struct db *db;
    unsigned removed = 0;
    if (store_begin(app->store, STORE_TELEMETRY, &db, &e)) {
        log_warn_limited("history not expired: %s", e.text);
        return 0;
    }
    if (store_history_expire(db, clock_wall_s() - HISTORY_S, HISTORY_BATCH, &removed, &e)) {
        store_rollback(db);
        removed = 0;
    } else if (removed == 0) {
        store_rollback(db);
    } else if (store_commit(db, &e)) {
        removed = 0;
    }
    return removed;
}

/* A full batch means that there may be more: again in a second, so that others write in between. */
static void on_history(void *arg)
{
    struct housekeeping *h = arg;
    unsigned removed = expire_batch(h->app);
    evloop_timer_arm(h->history, (removed == HISTORY_BATCH ? 1 : HISTORY_EVERY_S) * NS_PER_S);
}

static void on_renewal(void *arg)
{
    struct housekeeping *h = arg;
    struct err e = {0};
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
