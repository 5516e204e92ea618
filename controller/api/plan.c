/* POST /api/v1/plan: the writes are made, one after another, by their own handlers, in one
 * transaction that is undone. The first that is refused ends it. */
#include "common/json_show.h"
#include "common/strbuf.h"
#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/api/plan_json.h"
#include "controller/api/routes.h"
#include "controller/app.h"
#include "controller/auth/role.h"
#include "controller/change.h"
#include "controller/http/problem.h"
#include "controller/push/topology_load.h"
#include "controller/store/signed.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const methods[] = {"POST", "PUT", "PATCH", "DELETE", NULL};
static const enum http_method method_of[] = {HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE};

/* Objects that earlier writes made or changed. */
struct planning {
    struct app *app;
    struct http_request *req;
    struct db *db;
    struct hw_id ids[PLAN_CHANGES_MAX];
    size_t n_ids;
};

/* --- "@N" --- */

/* Appends `text` with every @N that stands between `before` and `after` (or the end) replaced by
 * the id of write N. HW_EINVAL: there is no such write before this one. */
static int expand(const struct planning *p, const char *text, const char *before, char after,
                  struct strbuf *out, struct err *e)
{
    size_t len = strlen(before);
    for (const char *s = text; *s; s++) {
        char id[ID_TEXT_MAX], *end = NULL;
        bool here = *s == '@' && (size_t)(s - text) >= len && !memcmp(s - len, before, len) &&
                    isdigit((unsigned char)s[1]);
        unsigned long n = here ? strtoul(s + 1, &end, 10) : 0;
        if (!here || (*end && *end != after)) {
            strbuf_printf(out, "%c", *s);
            continue;
        }
        if (n >= p->n_ids)
            return err_set(e, HW_EINVAL, "@%lu names no earlier write", n);
        strbuf_puts(out, id_text(&p->ids[n], id));
        s = end - 1;
    }
    return out->failed ? err_set(e, HW_ENOMEM, "out of memory") : 0;
}

/* A string value begins behind one of these and nothing else: the text has no white space, and a
 * quote inside a string has a backslash before it. */
static int expand_body(const struct planning *p, const char *json, struct strbuf *out,
                       struct err *e)
{
    static const char *const openers[] = {":\"", ",\"", "[\""};
    struct strbuf from = STRBUF_INIT, to = STRBUF_INIT;
    strbuf_puts(&from, json);
    int rc = from.failed ? err_set(e, HW_ENOMEM, "out of memory") : 0;
    for (size_t i = 0; i < sizeof openers / sizeof *openers && !rc; i++) {
        rc = expand(p, from.data, openers[i], '"', &to, e);
        strbuf_done(&from);
        from = to;
        to = (struct strbuf)STRBUF_INIT;
    }
    if (rc)
        strbuf_done(&from);
    else
        *out = from;
    return rc;
}

/* --- one write --- */

static bool can_be_tried(const struct http_route *r)
{
    return r->handler == resource_create || r->handler == resource_patch ||
           r->handler == resource_delete || r->handler == gateways_revoke ||
           r->handler == encryption_policy_put || r->handler == encryption_policy_delete ||
           r->handler == rules_create || r->handler == rules_replace || r->handler == rules_patch ||
           r->handler == rules_delete;
}

static bool is_planned_kind(const char *path)
{
    static const char *const kinds[] = {"/api/v1/sites",       "/api/v1/gateways",
                                        "/api/v1/connections", "/api/v1/links",
                                        "/api/v1/rulesets",    "/api/v1/address-groups"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t len = strlen(kinds[i]);
        if (!strncmp(path, kinds[i], len) && (!path[len] || path[len] == '/'))
            return true;
    }
    return false;
}

/* The object that a write was about: what it made, or what its path names last. Rules are made
 * several at once and have no Location of their own: their set stands for them. */
static int take_id(struct planning *p, const struct http_request *sub,
                   const struct http_response *res)
{
    struct hw_id *id = &p->ids[p->n_ids];
    bool found = sub->n_params && !id_parse(sub->params[sub->n_params - 1], id);
    for (size_t i = 0; i < res->n_headers && !found; i++) {
        const char *name = strrchr(res->headers[i].value, '/');
        found = !strcmp(res->headers[i].name, "Location") && name && !id_parse(name + 1, id);
    }
    p->n_ids += found;
    return found ? 0 : HW_EFAIL;
}

/* Runs the write's handler; a refusal that the client would see is no failure here. */
static int try_write(struct planning *p, struct http_request *sub, size_t index,
                     struct plan_refusal *refusal, struct err *e)
{
    struct http_response res = {0}, problem = {0};
    struct err why = {0};
    int rc = sub->route->handler(p->app, sub, &res, &why);
    if (!rc)
        rc = take_id(p, sub, &res) ? err_set(e, HW_EFAIL, "a write without an object") : 0;
    else {
        why.code = rc;
        problem_from_err(sub, &problem, &why);
        if (problem.status >= 500)
            *e = why;
        else
            rc = 0;
        *refusal = (struct plan_refusal){
            .refused = true, .change = index, .status = problem.status, .why = why};
    }
    http_response_done(&res);
    http_response_done(&problem);
    return rc;
}

/* As the write itself would be refused. */
static void refuse_role(const struct http_request *sub, size_t index, struct plan_refusal *refusal)
{
    *refusal = (struct plan_refusal){.refused = true, .change = index, .status = 403};
    err_set(&refusal->why, HW_EFORBIDDEN, "the role %s is needed, this API key has the role %s",
            role_name(sub->route->role), role_name(sub->role));
}

static int refuse_change(const struct json_at *at, const char *key, struct err *e, const char *why)
{
    struct json_at member;
    int rc = json_member(at, key, &member, e);
    return rc ? rc : json_refuse(&member, e, "%s", why);
}

static int run_change(struct planning *p, const struct json_at *at, size_t index,
                      struct plan_refusal *refusal, struct err *e)
{
    static const char *const members[] = {"method", "path", "body", NULL};
    struct strbuf path = STRBUF_INIT, body = STRBUF_INIT;
    struct http_request sub = {.listener = HTTP_PEOPLE,
                               .peer = p->req->peer,
                               .role = p->req->role,
                               .api_key_id = p->req->api_key_id,
                               .within = p->db};
    char allow[ROUTER_ALLOW_MAX];
    struct json_at object;
    const char *text = NULL;
    unsigned method = 0;
    int rc = json_members(at, members, e);
    if (!rc)
        rc = json_get_enum(at, "method", methods, &method, e);
    if (!rc)
        rc = json_get_str(at, "path", HTTP_PATH_TEXT_MAX, &text, e);
    if (!rc && expand(p, text, "/", '/', &path, e))
        rc = refuse_change(at, "path", e, "@N must name an earlier write");
    if (!rc && json_has(at, "body")) {
        rc = json_get_object(at, "body", &object, e);
        if (!rc && expand_body(p, json_plain(&object), &body, e))
            rc = refuse_change(at, "body", e, "@N must name an earlier write");
    }
    if (!rc) {
        memcpy(sub.id, p->req->id, sizeof sub.id);
        sub.method = method_of[method];
        sub.path = path.data ? path.data : "";
        sub.body = body.data;
        sub.body_len = body.len;
        if (!is_planned_kind(sub.path) ||
            router_match(routes, routes_count, &sub, &sub.route, allow) || !can_be_tried(sub.route))
            rc = refuse_change(at, "path", e, "no write that can be planned");
        else if (!role_allows(sub.role, sub.route->role))
            refuse_role(&sub, index, refusal);
        else
            rc = try_write(p, &sub, index, refusal, e);
    }
    strbuf_done(&path);
    strbuf_done(&body);
    return rc;
}

/* --- the whole --- */

static int pushed(struct db *db, const struct plan *after, struct plan_report *r, struct err *e)
{
    r->pushed = calloc(after->n_gateways + 1, sizeof *r->pushed);
    if (!r->pushed)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < after->n_gateways; i++) {
        uint64_t number = 0;
        int rc = store_config_revision(db, &after->gateways[i].gateway_id, &number, e);
        if (rc)
            return rc;
        if (number == store_revision(db))
            r->pushed[r->n_pushed++] = after->gateways[i].gateway_id;
    }
    return 0;
}

static int report(struct planning *p, const struct loaded_topology *before,
                  const struct plan_refusal *refusal, struct http_response *res, struct err *e)
{
    struct loaded_topology after = {0};
    struct plan plans[2] = {0};
    struct plan_report r = {.refusal = refusal};
    int rc = planner_run(&before->topology, &plans[0], e);
    if (!rc && !refusal->refused)
        rc = topology_load(p->db, &after, e);
    if (!rc && !refusal->refused)
        rc = planner_run(&after.topology, &plans[1], e);
    r.before = (struct plan_side){&before->topology, &plans[0]};
    r.after = (struct plan_side){&after.topology, &plans[1]};
    if (refusal->refused)
        r.after = r.before;
    if (!rc)
        rc = plan_diff(&r.before, &r.after, &r.diff, e);
    if (!rc && !refusal->refused)
        rc = pushed(p->db, &plans[1], &r, e);
    if (!rc)
        http_response_json(res, 200, plan_json(&r));
    free(r.pushed);
    plan_diff_done(&r.diff);
    plan_done(&plans[0]);
    plan_done(&plans[1]);
    loaded_topology_done(&after);
    return rc;
}

static int try_all(struct planning *p, const struct json_at *changes, size_t n,
                   struct http_response *res, struct err *e)
{
    struct loaded_topology before;
    struct plan_refusal refusal = {0};
    int rc = topology_load(p->db, &before, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < n && !rc && !refusal.refused; i++) {
        struct json_at at = json_element(changes, i);
        rc = run_change(p, &at, i, &refusal, e);
    }
    if (!rc)
        rc = report(p, &before, &refusal, res, e);
    loaded_topology_done(&before);
    return rc;
}

int plan_preview(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    static const char *const members[] = {"changes", NULL};
    struct planning p = {.app = app, .req = req};
    struct json_object *doc;
    struct json_at top, changes;
    size_t n = 0;
    int rc = body_object(req, members, &doc, &top, e);
    if (rc)
        return rc;
    rc = json_get_array(&top, "changes", PLAN_CHANGES_MAX, &changes, &n, e);
    if (!rc && !n)
        rc = json_refuse(&changes, e, "at least one write");
    if (!rc)
        rc = change_begin(app, &p.db, e);
    if (!rc) {
        rc = try_all(&p, &changes, n, res, e);
        change_abort(p.db);
    }
    json_free(doc);
    return rc;
}
