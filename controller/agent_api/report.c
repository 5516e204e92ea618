#include "common/model/report.h"
#include "common/clock.h"
#include "controller/agent_api/agent_api.h"
#include "controller/app.h"
#include "controller/change.h"
#include "controller/firewall/ingest.h"
#include "controller/push/publish.h"
#include "controller/store/denial.h"
#include "controller/store/gateway.h"
#include "controller/telemetry/counters.h"
#include "controller/telemetry/gateway_watch.h"
#include "controller/telemetry/ingest.h"

/* What one report needs of the store, found out before a transaction of the right kind is begun. */
struct need {
    bool replan; /* plan anew */
    bool aside;  /* it would, but the gateway asks for that too often */
    bool hold;   /* the agent knows more than this store has given out */
    struct publish_known known;
};

static int look(struct app *app, const struct http_request *req, const struct report *r,
                struct need *need, struct err *e)
{
    struct db *db;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    struct store_gateway g;
    bool changed;
    rc = store_gateway_get(db, &req->gateway_id, &g, e);
    if (!rc) {
        rc = ingest_identity(r, &g, &changed, &need->replan, e);
        store_gateway_done(&g);
    }
    if (!rc && need->replan && !gateway_watch_plan(app->watch, &req->gateway_id, clock_mono_ns())) {
        need->replan = false;
        need->aside = true;
    }
    struct publish_known own = {.revision = store_revision(db)};
    if (!rc)
        rc = store_denial_known(db, &own.denials, e);
    need->known =
        (struct publish_known){.revision = r->revisions.received, .denials = r->denials_revision};
    need->hold = publish_is_behind(&own, &need->known);
    store_read_end(db);
    return rc;
}

static int store_identity(struct db *db, const struct http_request *req, const struct report *r,
                          struct err *e)
{
    struct store_gateway g;
    bool changed, replan;
    int rc = store_gateway_get(db, &req->gateway_id, &g, e);
    if (rc)
        return rc;
    rc = ingest_identity(r, &g, &changed, &replan, e);
    if (!rc && changed)
        rc = store_gateway_update(db, &g, e);
    store_gateway_done(&g);
    return rc;
}

static int store_report(struct db *db, const struct http_request *req, const struct report *r,
                        const struct need *need, struct counters_table *table,
                        struct counters **next, struct err *e)
{
    int rc = need->aside ? 0 : store_identity(db, req, r, e);
    if (!rc)
        rc = ingest_telemetry(db, &req->gateway_id, r, req->body, table, next, e);
    if (!rc)
        rc = firewall_ingest(db, &req->gateway_id, r, e);
    if (!rc && need->hold)
        rc = publish_hold(db, &req->gateway_id, &need->known, e);
    return rc;
}

/* Most reports change nothing that is planned: they leave the revision alone. */
static int commit_report(struct app *app, const struct http_request *req, const struct report *r,
                         struct err *e)
{
    struct need need = {0};
    struct counters *next = NULL;
    int rc = look(app, req, r, &need, e);
    if (rc)
        return rc;
    bool change = need.replan || need.hold;
    struct db *db;
    rc = store_begin(app->store, change ? STORE_CHANGE : STORE_TELEMETRY, &db, e);
    if (rc)
        return rc;
    rc = store_report(db, req, r, &need, app->counters, &next, e);
    if (rc)
        store_rollback(db);
    else
        rc = change ? change_commit(app, db, PUBLISH_AGENT, e) : store_commit(db, e);
    if (rc)
        counters_free(next);
    else if (next)
        counters_table_put(app->counters, &req->gateway_id, next, clock_mono_ns());
    return rc;
}

/* POST /agent/v1/report */
int agent_api_report(struct app *app, struct http_request *req, struct http_response *res,
                     struct err *e)
{
    struct report r;
    int rc = report_decode(req->body ? req->body : "", req->body_len, &r, e);
    if (rc)
        return rc;
    gateway_watch_boot(app->watch, &req->gateway_id, &r.boot_id, clock_mono_ns());
    rc = commit_report(app, req, &r, e);
    report_done(&r);
    if (rc)
        return rc;
    http_response_empty(res, 204);
    return 0;
}
