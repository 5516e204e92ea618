#include "common/clock.h"
#include "common/model/command.h"
#include "controller/agent_api/agent_api.h"
#include "controller/app.h"
#include "controller/auth/agent_cert.h"
#include "controller/change.h"
#include "controller/http/server.h"
#include "controller/operations/operations.h"
#include "controller/push/hub.h"
#include "controller/push/publish.h"
#include "controller/store/denial.h"
#include "controller/store/signed.h"
#include "controller/telemetry/gateway_watch.h"

/* What a poll says and what the store has. */
struct poll_state {
    struct publish_known agent;
    struct command_poll newest;
    struct publish_known own; /* of the store */
    bool held;
};

static int read_query(const struct http_request *req, struct poll_state *s, struct hw_id *boot,
                      struct err *e)
{
    int rc = http_request_query_u64(req, "seen", 0, INT64_MAX - 1, 0, &s->agent.revision, e);
    if (!rc)
        rc = http_request_query_u64(req, "denials", 0, INT64_MAX - 1, 0, &s->agent.denials, e);
    const char *text = http_request_query(req, "boot");
    if (!rc && (!text || id_parse(text, boot)))
        rc = err_set_field(e, HW_EINVAL, "boot", "boot is the machine's boot id");
    return rc;
}

/* A poll that was parked asks again whether its gateway may still be answered: it may have been
 * revoked meanwhile. */
static int read_store(struct app *app, struct http_request *req, struct poll_state *s,
                      struct err *e)
{
    struct db *db;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    if (req->resumed)
        rc = agent_cert_check(db, req, ROLE_AGENT, e);
    if (!rc)
        rc = store_config_revision(db, &req->gateway_id, &s->newest.config_revision, e);
    if (!rc)
        rc = store_denials_doc_number(db, &s->newest.denials_revision, e);
    if (!rc)
        rc = store_denial_known(db, &s->own.denials, e);
    if (!rc)
        rc = operations_due(db, &req->gateway_id, s->newest.commands, &s->newest.n_commands, e);
    if (!rc)
        rc = publish_held(db, &s->held, NULL, 0, e);
    s->own.revision = store_revision(db);
    store_read_end(db);
    return rc;
}

/* Nothing is pushed while an admin has not accepted a restored store; denials always are. */
static bool something_newer(const struct poll_state *s)
{
    return (!s->held && s->newest.config_revision > s->agent.revision) ||
           s->newest.denials_revision > s->agent.denials || s->newest.n_commands > 0;
}

static int hold(struct app *app, const struct http_request *req, const struct publish_known *agent,
                struct err *e)
{
    struct db *db;
    int rc = store_begin(app->store, STORE_CHANGE, &db, e);
    if (rc)
        return rc;
    rc = publish_hold(db, &req->gateway_id, agent, e);
    if (rc) {
        store_rollback(db);
        return rc;
    }
    return store_commit(db, e);
}

static int answer(const struct poll_state *s, struct http_response *res)
{
    if (something_newer(s)) {
        struct command_poll p = s->newest;
        if (s->held)
            p.config_revision = s->agent.revision;
        http_response_json(res, 200, command_poll_encode(&p, NULL));
    } else {
        http_response_empty(res, 204);
    }
    return 0;
}

static void poll_ended(void *arg, uint64_t ticket)
{
    hub_end(arg, ticket);
}

/*
 * Parking comes before the hub learns of it: a waking between the two then finds the request
 * parked. Where the hub was quicker (something changed since the store was read) the request wakes
 * itself and looks again.
 */
static void park(struct app *app, struct http_request *req, uint64_t token)
{
    uint64_t until =
        req->resumed ? req->park_until_ns : clock_mono_ns() + app->settings.poll_seconds * NS_PER_S;
    http_request_park(req, until, poll_ended, app->hub);
    if (hub_park(app->hub, &req->gateway_id, token, req->ticket, NULL) == HW_ESTALE)
        http_server_wake(req->server, req->ticket);
}

/* GET /agent/v1/poll?seen=R&denials=D&boot=B */
int agent_api_poll(struct app *app, struct http_request *req, struct http_response *res,
                   struct err *e)
{
    struct poll_state s = {0};
    struct hw_id boot;
    int rc = read_query(req, &s, &boot, e);
    if (rc)
        return rc;
    enum hub_reason woken = req->resumed ? hub_resume(app->hub, req->ticket) : HUB_NOT_WOKEN;
    if (!req->resumed)
        gateway_watch_boot(app->watch, &req->gateway_id, &boot, clock_mono_ns());
    uint64_t token = hub_token(app->hub);
    rc = read_store(app, req, &s, e);
    if (!rc && publish_is_behind(&s.own, &s.agent)) {
        rc = hold(app, req, &s.agent, e);
        s.held = true;
    }
    if (rc)
        return rc;
    if (something_newer(&s) || req->park_over || woken == HUB_SUPERSEDED)
        return answer(&s, res);
    park(app, req, token);
    return 0;
}
