#include "controller/app.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "common/hex.h"
#include "common/log.h"
#include "common/secret.h"
#include "controller/api/dispatch.h"
#include "controller/audit/audit.h"
#include "controller/audit/refusals.h"
#include "controller/auth/ratelimit.h"
#include "controller/ca/ca.h"
#include "controller/change.h"
#include "controller/http/server.h"
#include "controller/http/static_files.h"
#include "controller/push/hub.h"
#include "controller/sizes/catalogue.h"
#include "controller/store/api_key.h"
#include "controller/store/overlay_pools.h"
#include "controller/store/store.h"
#include "controller/telemetry/counters.h"
#include "controller/telemetry/gateway_watch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEM_MAX (256u << 10)

/* Certificate and key of both listeners, and the CA by which agents are judged. */
struct pems {
    char *cert[HTTP_LISTENERS], *key[HTTP_LISTENERS];
};

void app_path(const struct app *app, const char *name, char out[PATH_MAX])
{
    (void)snprintf(out, PATH_MAX, "%s/%s", app->settings.state_dir, name);
}

static void pems_done(struct pems *p)
{
    for (int i = 0; i < HTTP_LISTENERS; i++) {
        if (p->key[i])
            secret_wipe(p->key[i], strlen(p->key[i]));
        free(p->key[i]);
        free(p->cert[i]);
    }
    *p = (struct pems){0};
}

static int pems_read(const struct app *app, enum http_listener l, const char *cert_name,
                     const char *key_name, struct pems *out, struct err *e)
{
    const struct settings *s = &app->settings;
    char cert[PATH_MAX], key[PATH_MAX];
    size_t len;
    app_path(app, cert_name, cert);
    app_path(app, key_name, key);
    bool own = l == HTTP_PEOPLE && s->tls_cert[0];
    int rc = fsutil_read(own ? s->tls_cert : cert, PEM_MAX, &out->cert[l], &len, e);
    return rc ? rc : fsutil_read(own ? s->tls_key : key, PEM_MAX, &out->key[l], &len, e);
}

static int pems_load(const struct app *app, struct pems *out, struct err *e)
{
    int rc = pems_read(app, HTTP_PEOPLE, "web.pem", "web.key", out, e);
    return rc ? rc
              : pems_read(app, HTTP_AGENTS, "agent-listener.pem", "agent-listener.key", out, e);
}

/* Pools of the settings must be those that addresses in use came from. */
static int check_pools(struct app *app, struct err *e)
{
    const struct prefix wanted[OVERLAY_POOLS] = {app->settings.overlay_pool4,
                                                 app->settings.overlay_pool6};
    struct db *db;
    int rc = store_begin(app->store, STORE_TELEMETRY, &db, e);
    if (rc)
        return rc;
    rc = store_overlay_pools_set(db, wanted, e);
    if (!rc)
        return store_commit(db, e);
    store_rollback(db);
    return rc;
}

/* Numbers of tunnels may follow from another catalogue than the last start had. */
static int load_catalogue(struct app *app, struct err *e)
{
    struct db *db;
    bool changed = false;
    int rc = change_begin(app, &db, e);
    if (rc)
        return rc;
    rc = catalogue_load(db, &changed, e);
    if (!rc && changed)
        rc = audit_own(db, AUDIT_CONTROLLER, "instance-sizes.load", NULL, e);
    if (!rc && changed)
        return change_commit(app, db, PUBLISH_AGENT, e);
    change_abort(db);
    return rc;
}

/* bootstrap makes the token last. */
static int check_bootstrapped(struct app *app, struct err *e)
{
    struct db *db;
    unsigned keys = 0;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = store_api_key_count(db, &keys, e);
    store_read_end(db);
    if (!rc && !keys)
        rc = err_set(e, HW_EFAIL, "%s: bootstrap did not come to its end: run it again",
                     app->settings.state_dir);
    return rc;
}

/* Without its files there is no console, and all the rest works. */
static int load_console(struct app *app, struct err *e)
{
    struct err why = {0};
    const char *dir = app->settings.webui_dir;
    int rc = dir[0] ? static_files_load(dir, &app->console, &why) : HW_ENOTFOUND;
    if (rc == HW_ENOTFOUND) {
        log_info("no console: %s", dir[0] ? why.text : "webui_dir is empty");
        return 0;
    }
    return rc ? err_set_field(e, rc, "webui_dir", "webui_dir: %s", why.text) : 0;
}

/* In the log, which often goes elsewhere: a chain that lost its end is shorter than this says. */
static int log_audit_head(struct app *app, struct err *e)
{
    char hash[2 * STORE_SHA256_LEN + 1];
    struct store_audit_head head;
    struct db *db;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = store_audit_head(db, &head, e);
    store_read_end(db);
    if (!rc)
        log_info("audit head=%llu:%s", (unsigned long long)head.sequence,
                 hex_encode(head.hash, sizeof head.hash, hash));
    return rc;
}

static void wake(void *arg, uint64_t ticket)
{
    struct app *app = arg;
    http_server_wake(app->server, ticket);
}

static int start_server(struct app *app, struct err *e)
{
    struct pems pems = {0};
    const struct settings *s = &app->settings;
    struct http_server_config c = {
        .threads = s->threads,
        .request_seconds = s->request_seconds,
        .answer_seconds = s->answer_seconds,
        .idle_seconds = 60,
        .begin = dispatch_begin,
        .handle = dispatch_handle,
        .arg = app,
    };
    int rc = pems_load(app, &pems, e);
    for (enum http_listener l = HTTP_PEOPLE; l < HTTP_LISTENERS && !rc; l++) {
        struct http_listener_config *lc = &c.listeners[l];
        bool people = l == HTTP_PEOPLE;
        lc->cert_pem = pems.cert[l];
        lc->key_pem = pems.key[l];
        lc->client_ca_pem = people ? NULL : ca_pem(app->ca);
        lc->connections_max = people ? 512 : 12000;
        lc->connections_per_client_max = people ? 128 : 1024;
        lc->n_addresses = people ? s->n_listen : s->n_agent_listen;
        for (size_t i = 0; i < lc->n_addresses; i++)
            lc->addresses[i] = people ? s->listen[i] : s->agent_listen[i];
    }
    if (!rc)
        rc = http_server_start(&c, &app->server, e);
    pems_done(&pems);
    return rc;
}

int app_start(struct app *app, struct err *e)
{
    char path[PATH_MAX];
    app_path(app, "hawser.db", path);
    int rc = store_open(path, false, &app->store, e);
    if (!rc)
        store_set_witness(app->store, audit_witness);
    if (!rc)
        rc = check_bootstrapped(app, e);
    if (!rc)
        rc = check_pools(app, e);
    if (!rc)
        rc = ca_open(app->settings.state_dir, clock_wall_s(), &app->ca, e);
    if (!rc)
        rc = hub_new(wake, app, &app->hub, e);
    if (!rc) {
        app->auth_limit = ratelimit_new();
        app->refusals = refusals_new();
        app->watch = gateway_watch_new();
        app->counters = counters_table_new();
        rc = app->auth_limit && app->refusals && app->watch && app->counters
                 ? 0
                 : err_set(e, HW_ENOMEM, "out of memory");
    }
    if (!rc)
        rc = load_catalogue(app, e);
    if (!rc)
        rc = log_audit_head(app, e);
    if (!rc)
        rc = load_console(app, e);
    if (!rc)
        rc = start_server(app, e);
    if (rc)
        app_stop(app);
    return rc;
}

/* An empty change: configs that an older key signed are signed anew. */
static int sign_anew(struct app *app, struct err *e)
{
    struct db *db;
    int rc = change_begin(app, &db, e);
    if (rc)
        return rc;
    rc = audit_own(db, AUDIT_CONTROLLER, "configs.sign", NULL, e);
    if (!rc)
        return change_commit(app, db, PUBLISH_AGENT, e);
    change_abort(db);
    return rc;
}

/* What was renewed is taken into use even if something else could not be. */
int app_renew_certificates(struct app *app, struct err *e)
{
    struct pems pems = {0};
    struct err more = {0};
    bool renewed = false;
    int first = ca_renew_own(app->ca, clock_wall_s(), &renewed, e);
    int rc = renewed ? sign_anew(app, first ? &more : e) : 0;
    first = first ? first : rc;
    rc = pems_load(app, &pems, first ? &more : e);
    for (enum http_listener l = HTTP_PEOPLE; l < HTTP_LISTENERS && !rc; l++)
        rc = http_server_set_certificate(app->server, l, pems.cert[l], pems.key[l],
                                         first ? &more : e);
    pems_done(&pems);
    return first ? first : rc;
}

void app_stop(struct app *app)
{
    app->stopping = true;
    http_server_stop(app->server);
    hub_free(app->hub);
    ratelimit_free(app->auth_limit);
    refusals_free(app->refusals);
    gateway_watch_free(app->watch);
    counters_table_free(app->counters);
    ca_free(app->ca);
    static_files_free(app->console);
    store_close(app->store);
    app->server = NULL;
    app->hub = NULL;
    app->auth_limit = NULL;
    app->refusals = NULL;
    app->watch = NULL;
    app->counters = NULL;
    app->console = NULL;
    app->ca = NULL;
    app->store = NULL;
}
