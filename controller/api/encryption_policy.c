/* /api/v1/connections/{id}/encryption-policy: what a connection permits besides encryption. A
 * permission ends with the write that takes one of its conditions away (push/publish.c), and at its
 * date (housekeeping.c). */
#include "common/clock.h"
#include "common/esp_suite.h"
#include "controller/api/api.h"
#include "controller/api/permission_json.h"
#include "controller/api/policy_condition.h"
#include "controller/app.h"
#include "controller/change.h"
#include "controller/http/problem.h"
#include "controller/store/api_key.h"
#include "controller/store/encryption_permission.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct subject {
    struct store_connection connection;
    struct store_site site_a, site_b;
};

static int load(struct db *db, const struct http_request *req, struct subject *s, struct err *e)
{
    struct hw_id id;
    int rc = http_request_param_id(req, 0, &id, e);
    rc = rc ? rc : store_connection_get(db, &id, &s->connection, e);
    rc = rc ? rc : store_site_get(db, &s->connection.site_a_id, &s->site_a, e);
    return rc ? rc : store_site_get(db, &s->connection.site_b_id, &s->site_b, e);
}

static void judge(const struct subject *s, const char *reason, int64_t ends_at, int64_t now,
                  struct policy_condition out[POLICY_CONDITIONS])
{
    policy_judge(&(struct policy_question){.connection = &s->connection,
                                           .site_a = &s->site_a,
                                           .site_b = &s->site_b,
                                           .reason = reason,
                                           .ends_at = ends_at,
                                           .now = now},
                 out);
}

/* ---- reading ---- */

static int put_policy(struct json_writer *w, struct db *db, const struct subject *s, struct err *e)
{
    struct policy_condition conditions[POLICY_CONDITIONS];
    struct store_permission p = {.reason = ""};
    int rc = store_permission_get(db, &s->connection.id, &p, e);
    if (rc && rc != HW_ENOTFOUND)
        return rc;
    judge(s, p.reason, p.ends_at, store_now(db), conditions);
    json_put_id(w, "connection_id", &s->connection.id);
    rc = permission_json_put(w, db, &s->connection, e);
    policy_put_conditions(w, conditions, false);
    return rc ? rc : policy_put_alternatives(w, db, &s->connection, e);
}

static int compose(struct db *db, const struct subject *s, char **out, struct err *e)
{
    struct json_writer w;
    json_writer_init(&w);
    int rc = put_policy(&w, db, s, e);
    if (rc) {
        json_writer_done(&w);
        return rc;
    }
    *out = json_finish(&w, NULL);
    return *out ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

static void answer(struct http_response *res, uint64_t revision, char *body)
{
    http_response_header(res, "ETag", "\"%llu\"", (unsigned long long)revision);
    http_response_json(res, 200, body);
}

int encryption_policy_get(struct app *app, struct http_request *req, struct http_response *res,
                          struct err *e)
{
    struct subject s = {.connection = {.kind = LINK_ATTACHMENT}};
    struct db *db;
    char *body = NULL;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = load(db, req, &s, e);
    rc = rc ? rc : compose(db, &s, &body, e);
    store_read_end(db);
    if (!rc)
        answer(res, s.connection.common.revision, body);
    return rc;
}

/* ---- a permission is asked for ---- */

static const char *trimmed(char *text)
{
    size_t len = strlen(text);
    while (len && strchr(" \t", text[len - 1]))
        text[--len] = '\0';
    return text + strspn(text, " \t");
}

/* One line of text, as lists and logs show it. */
static bool is_one_line(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

static int read_asked(const struct json_at *top, struct store_permission *p, struct err *e)
{
    static const char *const suites[] = {"none", "aes-256-gmac", NULL};
    char reason[sizeof p->reason];
    const char *end = NULL;
    unsigned suite = 0;
    int rc = json_get_enum(top, "suite", suites, &suite, e);
    rc = rc ? rc : json_get_text(top, "reason", reason, sizeof reason, e);
    rc = rc ? rc : json_get_str(top, "ends_at", CLOCK_TEXT_MAX, &end, e);
    if (rc)
        return rc;
    p->suite = (uint8_t)esp_weak_by_name(suites[suite]);
    if (!is_one_line(reason))
        return err_set_field(e, HW_EINVAL, "reason", "control characters have no place in it");
    if (policy_characters(reason) > PERMISSION_REASON_MAX)
        return err_set_field(e, HW_EINVAL, "reason", "at most %d characters",
                             PERMISSION_REASON_MAX);
    (void)snprintf(p->reason, sizeof p->reason, "%s", trimmed(reason));
    if (clock_parse(end, &p->ends_at) || p->ends_at <= 0)
        return err_set_field(e, HW_EINVAL, "ends_at", "not a time as 2030-01-31T12:00:00Z");
    return 0;
}

/* What a PUT has come to, within its transaction. */
struct asking {
    struct app *app;
    struct http_request *req;
    struct db *db;
    struct subject subject;
    struct store_permission permission;
    struct policy_condition conditions[POLICY_CONDITIONS];
    unsigned unmet;
    char *body; /* of the answer, or the problem's */
};

static int compose_refusal(struct asking *a, struct err *e)
{
    struct json_writer w;
    char detail[64];
    (void)snprintf(detail, sizeof detail, "%u of %d conditions %s not met", a->unmet,
                   POLICY_CONDITIONS, a->unmet == 1 ? "is" : "are");
    json_writer_init(&w);
    json_put_str(&w, "type", "urn:hawser:problem:encryption-policy");
    json_put_str(&w, "title", "Encryption stays");
    json_put_int(&w, "status", 409);
    json_put_str(&w, "detail", detail);
    json_put_null(&w, "field");
    json_put_str(&w, "request_id", a->req->id);
    policy_put_conditions(&w, a->conditions, true);
    int rc = policy_put_alternatives(&w, a->db, &a->subject.connection, e);
    if (rc) {
        json_writer_done(&w);
        return rc;
    }
    a->body = json_finish(&w, NULL);
    return a->body ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

/* The refusal for who shows one line alone: every unmet condition in it. */
static int refuse_in_words(const struct asking *a, struct err *e)
{
    char text[ERR_TEXT_MAX];
    size_t used = 0;
    for (unsigned i = 0; i < POLICY_CONDITIONS; i++) {
        if (a->conditions[i].met || used >= sizeof text)
            continue;
        int n = snprintf(text + used, sizeof text - used, "%s%s", used ? "; " : "",
                         a->conditions[i].detail);
        used += n > 0 ? (size_t)n : 0;
    }
    return err_set(e, HW_ECONFLICT, "encryption stays: %s", text);
}

static int permit(struct asking *a, struct publish_result *result, struct err *e)
{
    struct store_api_key key;
    struct store_permission *p = &a->permission;
    int rc = store_api_key_get(a->db, &a->req->api_key_id, &key, e);
    if (rc)
        return rc;
    p->id = id_new();
    p->connection_id = a->subject.connection.id;
    p->created_by = key.id;
    (void)snprintf(p->created_name, sizeof p->created_name, "%s", key.name);
    rc = store_permission_put(a->db, p, e);
    rc = rc ? rc : publish_changes(a->app, a->db, PUBLISH_OPERATOR, result, e);
    rc = rc ? rc : load(a->db, a->req, &a->subject, e);
    return rc ? rc : compose(a->db, &a->subject, &a->body, e);
}

static int ask(struct asking *a, struct publish_result *result, struct err *e)
{
    int rc = load(a->db, a->req, &a->subject, e);
    rc = rc ? rc : resource_match(a->req, a->subject.connection.common.revision, e);
    if (rc)
        return rc;
    judge(&a->subject, a->permission.reason, a->permission.ends_at, store_now(a->db),
          a->conditions);
    a->unmet = policy_unmet(a->conditions);
    if (!a->unmet)
        return permit(a, result, e);
    return a->req->within ? refuse_in_words(a, e) : compose_refusal(a, e);
}

/* Within its own transaction, or the one that the request came with. Nothing is written where a
 * condition is unmet. */
static int ask_whole(struct asking *a, struct err *e)
{
    struct publish_result result = {0};
    if (a->req->within) {
        a->db = a->req->within;
        int tried = ask(a, &result, e);
        publish_result_done(&result);
        return tried;
    }
    int rc = change_begin(a->app, &a->db, e);
    if (rc)
        return rc;
    rc = ask(a, &result, e);
    if (rc || !a->unmet)
        return change_finish(a->app, a->db, rc, &result, e);
    change_abort(a->db);
    return 0;
}

int encryption_policy_put(struct app *app, struct http_request *req, struct http_response *res,
                          struct err *e)
{
    static const char *const members[] = {"suite", "reason", "ends_at", NULL};
    struct asking a = {.app = app, .req = req};
    struct json_object *doc;
    struct json_at top;
    int rc = body_object(req, members, &doc, &top, e);
    if (rc)
        return rc;
    rc = read_asked(&top, &a.permission, e);
    rc = rc ? rc : ask_whole(&a, e);
    json_free(doc);
    if (rc)
        free(a.body);
    else if (a.unmet)
        http_response_take(res, 409, "application/problem+json", a.body, strlen(a.body));
    else
        answer(res, a.subject.connection.common.revision, a.body);
    return rc;
}

/* ---- encryption is all there is again ---- */

static int end(struct app *app, struct http_request *req, struct db *db,
               struct publish_result *result, struct err *e)
{
    struct subject s = {.connection = {.kind = LINK_ATTACHMENT}};
    int rc = load(db, req, &s, e);
    rc = rc ? rc : resource_match(req, s.connection.common.revision, e);
    rc = rc ? rc : store_permission_end(db, &s.connection.id, e);
    return rc ? rc : publish_changes(app, db, PUBLISH_OPERATOR, result, e);
}

int encryption_policy_delete(struct app *app, struct http_request *req, struct http_response *res,
                             struct err *e)
{
    struct publish_result result = {0};
    struct db *db = req->within;
    int rc = body_none(req, e);
    if (!rc && !db)
        rc = change_begin(app, &db, e);
    if (rc)
        return rc;
    rc = end(app, req, db, &result, e);
    if (req->within)
        publish_result_done(&result);
    else
        rc = change_finish(app, db, rc, &result, e);
    if (!rc)
        http_response_empty(res, 204);
    return rc;
}
