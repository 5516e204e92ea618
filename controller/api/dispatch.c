#include "controller/api/dispatch.h"
#include "common/clock.h"
#include "common/log.h"
#include "controller/api/routes.h"
#include "controller/app.h"
#include "controller/audit/audit.h"
#include "controller/audit/refusals.h"
#include "controller/auth/agent_cert.h"
#include "controller/auth/bearer.h"
#include "controller/auth/ratelimit.h"
#include "controller/auth/role.h"
#include "controller/auth/session.h"
#include "controller/auth/use.h"
#include "controller/http/problem.h"
#include "controller/http/server.h"
#include "controller/http/static_files.h"
#include "controller/store/store.h"
#include <string.h>
#include <strings.h>

static const struct http_route *find_route(const struct app *app, struct http_request *req,
                                           struct http_response *res)
{
    const struct http_route *route = NULL;
    char allow[ROUTER_ALLOW_MAX];
    int rc = router_match(routes, routes_count, req, &route, allow);
    if (rc == HW_EFORBIDDEN) {
        problem_write(req, res, 405, "method-not-allowed", "This method is not possible here", NULL,
                      "possible here: %s", allow);
        http_response_header(res, "Allow", "%s", allow);
    } else if (rc && !static_files_answer(app->console, req, res)) {
        problem_write(req, res, 404, "not-found", "There is no such thing", NULL,
                      "there is no such path");
    }
    return route;
}

static int check_person(struct db *db, struct http_request *req, struct err *e)
{
    return session_present(req) ? session_check(db, req, e) : bearer_check(db, req, e);
}

static int check_credentials(struct app *app, struct http_request *req, enum http_role role,
                             struct err *e)
{
    struct db *db;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = role_is_person(role) ? check_person(db, req, e) : agent_cert_check(db, req, role, e);
    store_read_end(db);
    if (!rc && role_is_person(role))
        use_note(app->store, req);
    return rc;
}

/* A session without the CSRF token is a session all the same: it guesses nothing. */
static void refused(struct app *app, const struct http_request *req, struct http_response *res,
                    enum http_role role, const struct err *e)
{
    char peer[IPADDR_TEXT_MAX], path[HTTP_PATH_TEXT_MAX];
    bool session = role_is_person(role) && session_present(req);
    if (role_is_person(role) && (!session || e->code == HW_EAUTH))
        ratelimit_failed(app->auth_limit, &req->peer, clock_mono_ns());
    if (session && e->code == HW_EAUTH)
        (void)session_set_cookie(res, NULL, NULL);
    log_warn_limited("authentication failed client=%s path=%s: %s", ipaddr_text(&req->peer, peer),
                     http_request_path_text(req, path), e->text);
}

/* True: the client's address has failed too often, and has been told so. */
static bool limited(struct app *app, const struct http_request *req, struct http_response *res)
{
    if (ratelimit_allows(app->auth_limit, &req->peer, clock_mono_ns()))
        return false;
    problem_rate_limited(req, res);
    return true;
}

static bool has_role(const struct http_request *req, struct http_response *res,
                     enum http_role needed)
{
    if (role_allows(req->role, needed))
        return true;
    problem_write(req, res, 403, "role-needed", "The API key's role may not do this", NULL,
                  "the role %s is needed, this API key has the role %s", role_name(needed),
                  role_name(req->role));
    return false;
}

/* A client certificate costs a guesser nothing less than the CA's key, so only tokens and cookies
 * are limited. Whoever has signed in is let pass although others of that address have failed: a
 * cookie is looked at first, a token only within the limit. */
static bool let_pass(struct app *app, struct http_request *req, struct http_response *res,
                     enum http_role role)
{
    struct err e = {0};
    bool session = role_is_person(role) && session_present(req);
    if (role == ROLE_PUBLIC)
        return true;
    if (role_is_person(role) && !session && limited(app, req, res))
        return false;
    if (!check_credentials(app, req, role, &e))
        return !role_is_person(role) || has_role(req, res, role);
    if (session && e.code == HW_EAUTH && limited(app, req, res))
        return false;
    if (e.code == HW_EAUTH || e.code == HW_EFORBIDDEN)
        refused(app, req, res, role, &e);
    problem_from_err(req, res, &e);
    return false;
}

/* Writes that are refused for want of credentials or role are recorded; those that are not even
 * looked at, since the address fails too often, are not. */
static bool authenticate(struct app *app, struct http_request *req, struct http_response *res,
                         const struct http_route *route)
{
    if (let_pass(app, req, res, route->role))
        return true;
    if (route->listener == HTTP_PEOPLE && route->method != HTTP_GET &&
        (res->status == 401 || res->status == 403))
        refusals_note(app->refusals, app->store, req, route, res->status);
    return false;
}

/* JSON is all that is ever taken. */
static bool content_type_ok(const struct http_request *req)
{
    const char *type = http_request_header(req, "Content-Type");
    size_t len = type ? strcspn(type, "; ") : 0;
    return (len == 16 && !strncasecmp(type, "application/json", len)) ||
           (len == 28 && !strncasecmp(type, "application/merge-patch+json", len) &&
            req->method == HTTP_PATCH);
}

void dispatch_begin(void *arg, struct http_request *req, struct http_response *res,
                    size_t *body_max)
{
    struct app *app = arg;
    const struct http_route *route = find_route(app, req, res);
    if (route && authenticate(app, req, res, route)) {
        *body_max = route->body_max;
        req->route = route;
    }
}

/* What every authenticated answer to an agent carries (docs/protocols.md). */
static void agent_headers(struct app *app, struct http_response *res)
{
    struct db *db;
    http_response_header(res, "Hawser-Time", "%lld", (long long)clock_wall_s());
    if (store_read(app->store, &db, NULL))
        return;
    http_response_header(res, "Hawser-Controller-Revision", "%llu",
                         (unsigned long long)store_revision(db));
    store_read_end(db);
}

static void log_request(const struct http_request *req, const struct http_response *res)
{
    char peer[IPADDR_TEXT_MAX], path[HTTP_PATH_TEXT_MAX];
    log_write(
        req->method == HTTP_GET || req->listener == HTTP_AGENTS ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO,
        "request method=%s path=%s status=%d client=%s request=%s", http_method_name(req->method),
        http_request_path_text(req, path), res->status, ipaddr_text(&req->peer, peer), req->id);
}

void dispatch_handle(void *arg, struct http_request *req, struct http_response *res)
{
    struct app *app = arg;
    struct err e = {0};
    if (req->body && !content_type_ok(req)) {
        problem_write(req, res, 415, "unsupported-media-type", "The body is not JSON", NULL,
                      "send the body as Content-Type: application/json");
    } else {
        audit_serve(req);
        int rc = req->route->handler(app, req, res, &e);
        audit_serve(NULL);
        if (!rc && !req->parked && !res->status)
            rc = err_set(&e, HW_ENOMEM, "the answer could not be written");
        if (rc) {
            e.code = rc;
            problem_from_err(req, res, &e);
        } else if (req->parked) {
            return;
        }
    }
    if (req->role == ROLE_AGENT || req->role == ROLE_AGENT_RENEW)
        agent_headers(app, res);
    log_request(req, res);
}
