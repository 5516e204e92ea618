#include "common/model/enrol.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/secret.h"
#include "common/x509.h"
#include "controller/agent_api/agent_api.h"
#include "controller/app.h"
#include "controller/audit/audit.h"
#include "controller/ca/ca.h"
#include "controller/change.h"
#include "controller/http/problem.h"
#include "controller/store/gateway.h"
#include "controller/store/token.h"
#include "controller/telemetry/gateway_watch.h"
#include "controller/telemetry/ingest.h"
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#define NAME_TRIES 100 /* "gw", "gw-2" … "gw-100" */

/* Everything about one enrolment on its way. */
struct enrolment {
    struct enrol_request *request;
    uint8_t key_pin[X509_PIN_LEN];
    struct store_token token;
    struct store_gateway gateway;
    bool gateway_exists;
    char *certificate_pem; /* owned */
    bool token_used;       /* every use belongs to another key */
};

/* The same words for a token that is not there and for a wrong secret: a caller learns nothing by
 * trying. */
static int check_token(struct db *db, struct enrolment *n, struct err *e)
{
    int rc = store_token_get(db, &n->request->token_id, &n->token, e);
    if (rc && rc != HW_ENOTFOUND)
        return rc;
    uint8_t hash[STORE_SHA256_LEN];
    SHA256(n->request->secret, sizeof n->request->secret, hash);
    if (rc || !secret_equal(hash, n->token.secret_sha256, sizeof hash))
        return err_set(e, HW_EFORBIDDEN, "this enrolment token is not known");
    return 0;
}

/* The reply to a key that has used the token before: what it was given then. A lost reply costs
 * nothing. */
static int find_earlier_use(struct db *db, struct enrolment *n, bool *found, struct err *e)
{
    struct store_token_use use;
    *found = false;
    int rc = store_token_use_get(db, &n->token.id, n->key_pin, &use, e);
    if (rc)
        return rc == HW_ENOTFOUND ? 0 : rc;
    rc = store_gateway_get(db, &use.gateway_id, &n->gateway, e);
    if (rc == HW_ENOTFOUND)
        rc = err_set(e, HW_EFORBIDDEN, "the gateway that this token made does not exist any more");
    else if (!rc && n->gateway.state != GATEWAY_ENROLLED)
        rc = err_set(e, HW_EFORBIDDEN, "the gateway that this token made is %s",
                     gateway_state_name(n->gateway.state));
    if (!rc) {
        *found = true;
        n->certificate_pem = use.certificate_pem;
        use.certificate_pem = NULL;
    }
    store_token_use_done(&use);
    return rc;
}

/* The gateway that a token names is bound, enrolled before or not: a re-imaged machine keeps its
 * identity. */
static int take_named(struct db *db, struct enrolment *n, struct err *e)
{
    int rc = store_gateway_by_name(db, n->token.gateway_name, &n->gateway, e);
    if (rc == HW_ENOTFOUND) {
        memcpy(n->gateway.name, n->token.gateway_name, sizeof n->gateway.name);
        return 0;
    }
    if (rc)
        return rc;
    n->gateway_exists = true;
    if (!id_equal(&n->gateway.site_id, &n->token.site_id))
        return err_set(e, HW_EFORBIDDEN, "gateway %s belongs to another site than this token",
                       n->gateway.name);
    if (n->gateway.state == GATEWAY_REVOKED)
        return err_set(e, HW_EFORBIDDEN, "gateway %s is revoked", n->gateway.name);
    return 0;
}

/* An unbound token takes the machine's own name: a gateway of that name that waits in this site, or
 * a new one, with a number behind the name where another machine has it. */
static int take_unnamed(struct db *db, struct enrolment *n, struct err *e)
{
    char name[HW_NAME_MAX + 1];
    memcpy(name, n->request->name, sizeof name);
    for (unsigned i = 2; i <= NAME_TRIES; i++) {
        struct store_gateway g;
        int rc = store_gateway_by_name(db, name, &g, e);
        if (rc == HW_ENOTFOUND) {
            memcpy(n->gateway.name, name, sizeof name);
            return 0;
        }
        if (rc)
            return rc;
        if (g.state == GATEWAY_PENDING && id_equal(&g.site_id, &n->token.site_id)) {
            n->gateway = g;
            n->gateway_exists = true;
            return 0;
        }
        store_gateway_done(&g);
        (void)snprintf(name, sizeof name, "%.*s-%u", HW_NAME_MAX - 4, n->request->name, i);
    }
    return err_set_field(e, HW_ECONFLICT, "name", "the name %s is taken", n->request->name);
}

static int fill_gateway(struct enrolment *n, struct err *e)
{
    struct store_gateway *g = &n->gateway;
    const struct enrol_request *r = n->request;
    if (!n->gateway_exists) {
        g->id = id_new();
        g->site_id = n->token.site_id;
        g->port_base = HW_PORT_BASE_DEFAULT;
        g->weight = 100;
    }
    const char *size = n->token.size[0] ? n->token.size : r->size;
    if (size[0])
        (void)snprintf(g->size, sizeof g->size, "%s", size);
    memcpy(g->cloud.provider, r->provider, sizeof g->cloud.provider);
    memcpy(g->cloud.region, r->region, sizeof g->cloud.region);
    memcpy(g->cloud.size, r->size, sizeof g->cloud.size);
    g->state = GATEWAY_ENROLLED;
    (void)snprintf(g->agent_version, sizeof g->agent_version, "%.*s", HW_NAME_MAX,
                   r->agent_version);
    id_text(&r->boot_id, g->boot_id);
    bool changed;
    return ingest_node(&r->node, g, &changed, e);
}

static int issue(struct app *app, struct db *db, struct enrolment *n, struct err *e)
{
    struct ca_issued issued;
    int rc =
        ca_issue_gateway(app->ca, n->request->csr_pem, &n->gateway.id, store_now(db), &issued, e);
    if (rc)
        return rc;
    rc = store_certificate_add(db, &n->gateway.id, issued.serial, issued.not_after, e);
    if (!rc)
        rc = store_token_use_add(db, &n->token.id, n->key_pin, &n->gateway.id, issued.pem, e);
    if (!rc) {
        n->certificate_pem = issued.pem;
        issued.pem = NULL;
    }
    ca_issued_done(&issued);
    return rc;
}

/* Inside the change. HW_ECONFLICT with token_used set, or anything else that refuses; nothing is
 * kept then. */
static int enrol_new(struct app *app, struct db *db, struct enrolment *n, struct err *e)
{
    if (n->token.uses >= n->token.max_uses) {
        n->token_used = true;
        return err_set(e, HW_ECONFLICT, "this token was used with another key");
    }
    if (n->token.expires_at <= store_now(db))
        return err_set(e, HW_EFORBIDDEN, "this enrolment token has expired");
    int rc = n->token.gateway_name[0] ? take_named(db, n, e) : take_unnamed(db, n, e);
    if (!rc)
        rc = fill_gateway(n, e);
    if (!rc)
        rc = n->gateway_exists ? store_gateway_update(db, &n->gateway, e)
                               : store_gateway_insert(db, &n->gateway, e);
    return rc ? rc : issue(app, db, n, e);
}

/* Before the writer is asked for: whoever has no token does not hold up those who have. */
static int check_caller(struct app *app, struct enrolment *n, struct err *e)
{
    struct db *db;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = check_token(db, n, e);
    store_read_end(db);
    return rc;
}

static int run(struct app *app, const struct http_request *req, struct enrolment *n, struct err *e)
{
    struct db *db;
    int rc = check_caller(app, n, e);
    if (!rc)
        rc = ca_csr_pin(n->request->csr_pem, n->key_pin, e);
    if (!rc)
        rc = change_begin(app, &db, e);
    if (rc)
        return rc;
    bool again = false;
    rc = check_token(db, n, e);
    if (!rc)
        rc = find_earlier_use(db, n, &again, e);
    if (!rc && !again)
        rc = enrol_new(app, db, n, e);
    if (!rc && !again)
        rc = audit_gateway(db, req, "enrol", &n->gateway.id, n->gateway.name, e);
    if (rc || again) {
        change_abort(db);
        return rc;
    }
    rc = change_commit(app, db, PUBLISH_AGENT, e);
    if (!rc) {
        char id[ID_TEXT_MAX];
        gateway_watch_forget(app->watch, &n->gateway.id);
        gateway_watch_boot(app->watch, &n->gateway.id, &n->request->boot_id, clock_mono_ns());
        log_info("gateway enrolled gw=%s name=%s", id_text(&n->gateway.id, id), n->gateway.name);
    }
    return rc;
}

static void reply(struct app *app, const struct enrolment *n, struct http_response *res)
{
    struct enrol_reply r = {.gateway_id = n->gateway.id,
                            .certificate_pem = n->certificate_pem,
                            .ca_pem = (char *)(uintptr_t)ca_pem(app->ca),
                            .urls = {.n = app->settings.n_agent_urls}};
    for (size_t i = 0; i < r.urls.n; i++)
        memcpy(r.urls.url[i], app->settings.agent_urls[i], sizeof r.urls.url[i]);
    _Static_assert(sizeof r.urls.url[0] == sizeof app->settings.agent_urls[0], "the same URLs");
    http_response_json(res, 200, enrol_reply_encode(&r, NULL));
}

/*
 * POST /agent/v1/enrol: the one request of a machine that has no certificate yet. The token decides
 * the site, and the name where it names one; of the CSR nothing counts but the public key.
 */
int agent_api_enrol(struct app *app, struct http_request *req, struct http_response *res,
                    struct err *e)
{
    auto_free struct enrol_request *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, HW_ENOMEM, "out of memory");
    struct enrolment n = {.request = r};
    int rc = enrol_request_decode(req->body ? req->body : "", req->body_len, r, e);
    if (!rc)
        rc = run(app, req, &n, e);
    if (!rc) {
        reply(app, &n, res);
    } else if (n.token_used) {
        problem_write(req, res, 409, "token-used", "Token used", NULL,
                      "this token belongs to another key: create a new one");
        rc = 0;
    }
    secret_wipe(r->secret, sizeof r->secret);
    secret_wipe(n.token.secret_sha256, sizeof n.token.secret_sha256);
    store_gateway_done(&n.gateway);
    free(n.certificate_pem);
    return rc;
}
