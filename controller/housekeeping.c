#include "controller/housekeeping.h"
#include "common/clock.h"
#include "common/log.h"
#include "controller/app.h"
#include "controller/audit/audit.h"
#include "controller/audit/retention.h"
#include "controller/ca/ca.h"
#include "controller/change.h"
#include "controller/operations/operations.h"
#include "controller/store/denial.h"
#include "controller/store/encryption_permission.h"
#include "controller/store/idempotency.h"
#include "controller/store/store.h"
#include "controller/store/telemetry.h"
#include "controller/telemetry/counters.h"
#include "controller/telemetry/keeper.h"
#include <stdlib.h>

#define EXPIRE_BATCH   500 /* rows in one transaction: the writer is not held for long */
#define EXPIRE_EVERY_S 60
#define COUNTERS_KEPT_NS                                                                           \
    (3600 * NS_PER_S)    /* in memory; afterwards the store's last report serves */
#define ROLL_BATCH    24 /* periods in one transaction */
#define ROLL_EVERY_S  10
#define SOON_NS       (100 * NS_PER_MS) /* there is more to do; others write in between */
#define RENEW_EVERY_S 3600
#define OPEN_EVERY_S  2 /* operations that wait for somebody */
#define ENDS_EVERY_S  1 /* permissions whose date may have come */

_Static_assert(DENIAL_KEPT_S > CA_RENEW_GRACE_S, "a denied certificate could renew");

struct housekeeping {
    struct app *app;
    struct ev_timer *expiry, *rollup, *renewal, *operations, *permissions;
    struct hw_id rolled; /* the gateway that was rolled up last; zero: begin anew */
};

/* Rows of telemetry removed. */
static unsigned expire_batch(struct app *app)
{
    struct err e = {0};
    struct db *db;
    unsigned rows = 0, answers = 0;
    int64_t now = clock_wall_s();
    int rc = store_begin(app->store, STORE_TELEMETRY, &db, &e);
    if (!rc) {
        rc = keeper_expire(db, now, EXPIRE_BATCH, &rows, &e);
        if (!rc)
            rc = store_answer_expire(db, now, &answers, &e);
        if (!rc && (rows || answers))
            rc = store_commit(db, &e);
        else
            store_rollback(db);
    }
    if (rc)
        log_warn_limited("nothing expired: %s", e.text);
    return rc ? 0 : rows;
}

static void on_expiry(void *arg)
{
    struct housekeeping *h = arg;
    uint64_t now = clock_mono_ns();
    if (now > COUNTERS_KEPT_NS)
        counters_table_prune(h->app->counters, now - COUNTERS_KEPT_NS);
    bool more = expire_batch(h->app) == EXPIRE_BATCH;
    evloop_timer_arm(h->expiry, more ? SOON_NS : EXPIRE_EVERY_S * NS_PER_S);
}

/* Gateways in turn until the batch is full. *more: some are left. One that can't be rolled up ends
 * the batch of those before it, and is passed over when it is the first of the next. */
static int roll_gateways(struct housekeeping *h, struct db *db, unsigned *rolled, bool *more,
                         struct err *e)
{
    int64_t now = clock_wall_s();
    *rolled = 0;
    while (*rolled < ROLL_BATCH) {
        struct hw_id next;
        unsigned n;
        int rc = store_telemetry_next_gateway(db, &h->rolled, &next, e);
        *more = rc == 0;
        if (rc) {
            h->rolled = (struct hw_id){0};
            return rc == HW_ENOTFOUND ? 0 : rc;
        }
        rc = keeper_roll(db, &next, now, ROLL_BATCH - *rolled, &n, e);
        if (rc && *rolled)
            return 0;
        if (rc) {
            h->rolled = next;
            return rc;
        }
        *rolled += n;
        if (*rolled < ROLL_BATCH) /* this one is done */
            h->rolled = next;
    }
    return 0;
}

static void on_rollup(void *arg)
{
    struct housekeeping *h = arg;
    struct err e = {0};
    struct db *db;
    bool more = false;
    unsigned rolled = 0;
    int rc = store_begin(h->app->store, STORE_TELEMETRY, &db, &e);
    if (!rc) {
        rc = roll_gateways(h, db, &rolled, &more, &e);
        if (rc || rolled == 0)
            store_rollback(db);
        else
            rc = store_commit(db, &e);
    }
    if (rc)
        log_warn_limited("telemetry not rolled up: %s", e.text);
    evloop_timer_arm(h->rollup, !rc && more ? SOON_NS : ROLL_EVERY_S * NS_PER_S);
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

/* Ends operations that wait in vain; what is old goes with them. */
static void on_operations(void *arg)
{
    struct housekeeping *h = arg;
    struct app *app = h->app;
    struct operations_wake wake = {.n = 0};
    struct err e = {0};
    struct db *db;
    bool open = false;
    int rc = store_read(app->store, &db, &e);
    if (!rc) {
        rc = operations_any_open(db, &open, &e);
        store_read_end(db);
    }
    if (!rc && open) {
        rc = store_begin(app->store, STORE_TELEMETRY, &db, &e);
        if (!rc && (rc = operations_expire(db, &wake, &e)))
            store_rollback(db);
        else if (!rc)
            rc = store_commit(db, &e);
    }
    if (rc)
        log_warn_limited("operations: %s", e.text);
    else
        operations_tell(&wake, app->hub);
    evloop_timer_arm(h->operations, OPEN_EVERY_S * NS_PER_S);
}

static int end_permissions(struct app *app, struct db *db, struct err *e)
{
    int rc = audit_own(db, AUDIT_CONTROLLER, "encryption-policy.end", NULL, e);
    if (!rc)
        return change_commit(app, db, PUBLISH_AGENT, e);
    change_abort(db);
    return rc;
}

/* A permission ends at the second; planning anew ends it (push/publish.c). */
static void on_permissions(void *arg)
{
    struct housekeeping *h = arg;
    struct err e = {0};
    struct db *db;
    int64_t end = 0;
    int rc = store_read(h->app->store, &db, &e);
    if (!rc) {
        rc = store_permission_next_end(db, &end, &e);
        store_read_end(db);
    }
    if (!rc && end && end <= clock_wall_s()) {
        rc = change_begin(h->app, &db, &e);
        rc = rc ? rc : end_permissions(h->app, db, &e);
    }
    if (rc)
        log_warn_limited("permissions: %s", e.text);
    evloop_timer_arm(h->permissions, ENDS_EVERY_S * NS_PER_S);
}

static void prune_audit(struct app *app)
{
    struct err e = {0};
    struct db *db;
    uint64_t removed = 0;
    int rc = store_begin(app->store, STORE_TELEMETRY, &db, &e);
    if (!rc) {
        rc = retention_prune(db, app->settings.audit_days, clock_wall_s(), &removed, &e);
        if (rc || !removed)
            store_rollback(db);
        else
            rc = store_commit(db, &e);
    }
    if (rc)
        log_warn_limited("audit not pruned: %s", e.text);
    else if (removed)
        log_info("audit pruned n=%llu", (unsigned long long)removed);
}

static void on_renewal(void *arg)
{
    struct housekeeping *h = arg;
    struct err e = {0};
    prune_denials(h->app);
    prune_audit(h->app);
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
    h->expiry = evloop_timer_add(loop, on_expiry, h);
    h->rollup = evloop_timer_add(loop, on_rollup, h);
    h->renewal = evloop_timer_add(loop, on_renewal, h);
    h->operations = evloop_timer_add(loop, on_operations, h);
    h->permissions = evloop_timer_add(loop, on_permissions, h);
    if (!h->expiry || !h->rollup || !h->renewal || !h->operations || !h->permissions) {
        housekeeping_stop(h);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    evloop_timer_arm(h->expiry, EXPIRE_EVERY_S * NS_PER_S);
    evloop_timer_arm(h->rollup, ROLL_EVERY_S * NS_PER_S);
    evloop_timer_arm(h->operations, OPEN_EVERY_S * NS_PER_S);
    evloop_timer_arm(h->permissions, 0);
    evloop_timer_arm(h->renewal, 0); /* the controller may have been off for long */
    *out = h;
    return 0;
}

void housekeeping_stop(struct housekeeping *h)
{
    if (!h)
        return;
    if (h->expiry)
        evloop_timer_remove(h->expiry);
    if (h->rollup)
        evloop_timer_remove(h->rollup);
    if (h->operations)
        evloop_timer_remove(h->operations);
    if (h->permissions)
        evloop_timer_remove(h->permissions);
    if (h->renewal)
        evloop_timer_remove(h->renewal);
    free(h);
}
