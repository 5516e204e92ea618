#include "controller/audit/refusals.h"
#include "common/clock.h"
#include "common/log.h"
#include "controller/audit/audit.h"
#include <pthread.h>
#include <stdlib.h>

struct refusals {
    pthread_mutex_t lock;
    double left; /* as of `at_ns` */
    uint64_t at_ns;
    unsigned omitted;
};

struct refusals *refusals_new(void)
{
    struct refusals *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    r->left = REFUSALS_BURST;
    return r;
}

void refusals_free(struct refusals *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

bool refusals_take(struct refusals *r, uint64_t now_ns, unsigned *omitted)
{
    pthread_mutex_lock(&r->lock);
    if (now_ns > r->at_ns) {
        r->left += (double)(now_ns - r->at_ns) / (double)NS_PER_S * REFUSALS_PER_SECOND;
        r->left = r->left > REFUSALS_BURST ? REFUSALS_BURST : r->left;
        r->at_ns = now_ns;
    }
    bool taken = r->left >= 1;
    *omitted = r->omitted;
    r->omitted = taken ? 0 : r->omitted + 1;
    r->left -= taken ? 1 : 0;
    pthread_mutex_unlock(&r->lock);
    return taken;
}

static int record(struct store *store, const struct http_request *req,
                  const struct http_route *route, int status, unsigned omitted, struct err *e)
{
    struct db *db;
    int rc = store_begin(store, STORE_TELEMETRY, &db, e);
    if (rc)
        return rc;
    rc = audit_refused(db, req, route, status, omitted, e);
    if (!rc)
        return store_commit(db, e);
    store_rollback(db);
    return rc;
}

void refusals_note(struct refusals *r, struct store *store, const struct http_request *req,
                   const struct http_route *route, int status)
{
    struct err e = {0};
    unsigned omitted = 0;
    if (refusals_take(r, clock_mono_ns(), &omitted) &&
        record(store, req, route, status, omitted, &e))
        log_warn_limited("a refusal is not in the audit request=%s: %s", req->id, e.text);
}
