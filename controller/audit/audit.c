#include "controller/audit/audit.h"
#include "common/json.h"
#include "controller/http/router.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The request that this thread serves, for changes whose maker says nothing. */
static _Thread_local const struct http_request *serving;

void audit_serve(const struct http_request *req)
{
    serving = req;
}

/* --- what a route does --- */

/* The last part of these paths says it all. */
static bool is_verb(const char *word)
{
    static const char *const verbs[] = {"revoke", "accept",      "cancel", "trace-path",
                                        "ping",   "tcp-connect", "plan"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (!strcmp(word, verbs[i]))
            return true;
    return false;
}

/* "/api/v1/sites/{id}" and PATCH: the action "sites.patch" at an object of type "sites". */
static void name_action(struct audit_record *r, const struct http_route *route)
{
    static const char *const done[] = {
        [HTTP_GET] = "get",     [HTTP_POST] = "create",   [HTTP_PUT] = "replace",
        [HTTP_PATCH] = "patch", [HTTP_DELETE] = "delete", [HTTP_OTHER] = "other"};
    char part[AUDIT_TYPE_MAX] = "";
    size_t used = 0, n = 0;
    for (const char *p = route->path; *p == '/'; n++) {
        size_t len = strcspn(++p, "/");
        if (n >= 2 && *p != '{') { /* behind "/api/v1" */
            (void)snprintf(part, sizeof part, "%.*s", (int)len, p);
            if (!r->object_type[0])
                (void)snprintf(r->object_type, sizeof r->object_type, "%s", part);
            int w =
                snprintf(r->action + used, sizeof r->action - used, "%s%s", used ? "." : "", part);
            used += w > 0 && (size_t)w < sizeof r->action - used ? (size_t)w : 0;
        }
        p += len;
    }
    if (!(route->method == HTTP_POST && is_verb(part)))
        (void)snprintf(r->action + used, sizeof r->action - used, ".%s", done[route->method]);
}

static struct audit_record of_request(const struct http_request *req,
                                      const struct http_route *route)
{
    struct audit_record r = {.kind = AUDIT_NOBODY, .req = req, .role = req->role};
    if (!id_is_zero(&req->api_key_id)) {
        r.kind = AUDIT_KEY;
        r.actor_id = req->api_key_id;
        r.actor_name = req->api_key_name;
    } else if (!id_is_zero(&req->gateway_id)) {
        r.kind = AUDIT_GATEWAY;
        r.actor_id = req->gateway_id;
    }
    name_action(&r, route);
    if (req->n_params && id_parse(req->params[0], &r.object_id))
        r.object_id = (struct hw_id){0};
    return r;
}

/* The body in the writer's own form; NULL where there is none, or none that is JSON. */
static char *body_text(const struct http_request *req)
{
    struct json_object *doc;
    if (!req->body || json_parse(req->body, req->body_len, HW_REQUEST_BODY_MAX, &doc, NULL))
        return NULL;
    struct json_at top = json_root(doc);
    char *text = json_text(&top);
    json_free(doc);
    return text;
}

int audit_request(struct db *db, const struct http_request *req, const struct audit_change *c,
                  struct err *e)
{
    struct audit_record r = of_request(req, req->route);
    char *body = NULL;
    if (c && c->type)
        (void)snprintf(r.object_type, sizeof r.object_type, "%s", c->type);
    if (c && c->id)
        r.object_id = *c->id;
    if (c && (c->before || c->after)) {
        r.before = c->before;
        r.after = c->after;
    } else if (req->listener == HTTP_PEOPLE) {
        r.after = body = body_text(req);
    }
    int rc = audit_record_write(db, &r, e);
    free(body);
    return rc;
}

int audit_request_bare(struct db *db, const struct http_request *req, struct err *e)
{
    struct audit_record r = of_request(req, req->route);
    return audit_record_write(db, &r, e);
}

int audit_gateway(struct db *db, const struct http_request *req, const char *action,
                  const struct hw_id *gateway_id, const char *name, struct err *e)
{
    struct audit_record r = {.kind = AUDIT_GATEWAY,
                             .actor_id = *gateway_id,
                             .actor_name = name,
                             .req = req,
                             .object_type = "gateways",
                             .object_id = *gateway_id};
    (void)snprintf(r.action, sizeof r.action, "agent.%s", action);
    return audit_record_write(db, &r, e);
}

int audit_own(struct db *db, enum audit_actor_kind kind, const char *action, const char *after,
              struct err *e)
{
    struct audit_record r = {.kind = kind, .after = after};
    (void)snprintf(r.action, sizeof r.action, "%s", action);
    return audit_record_write(db, &r, e);
}

int audit_witness(struct db *db, struct err *e)
{
    if (!serving || !serving->route)
        return audit_own(db, AUDIT_CONTROLLER, "controller.change", NULL, e);
    if (!id_is_zero(&serving->gateway_id))
        return audit_gateway(db, serving, strrchr(serving->route->path, '/') + 1,
                             &serving->gateway_id, NULL, e);
    return audit_request(db, serving, NULL, e);
}

int audit_refused(struct db *db, const struct http_request *req, const struct http_route *route,
                  int status, unsigned omitted, struct err *e)
{
    struct audit_record r = of_request(req, route);
    r.refused = status;
    r.omitted = omitted;
    return audit_record_write(db, &r, e);
}
