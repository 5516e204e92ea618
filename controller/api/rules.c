/* Rules of a ruleset. They are read, judged and written as one list, since what a rule means hangs
 * on those before it. */
#include "controller/api/api.h"
#include "controller/api/idempotency.h"
#include "controller/api/page.h"
#include "controller/api/resource.h"
#include "controller/api/rule_json.h"
#include "controller/api/rules_audit.h"
#include "controller/app.h"
#include "controller/change.h"
#include "controller/firewall/checks.h"
#include "controller/firewall/match.h"
#include "controller/store/rule.h"
#include "controller/store/ruleset.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSERT_MAX 1000

#define RULE_MEMBERS                                                                               \
    "name", "enabled", "action", "protocol", "source", "destination", "source_ports",              \
        "destination_ports", "log", "description"
static const char *const create_members[] = {RULE_MEMBERS, NULL};
static const char *const patch_members[] = {RULE_MEMBERS, "position", NULL};
static const char *const insert_members[] = {"position", "rules", NULL};
static const char *const replace_members[] = {"rules", NULL};
static const char *const replaced_members[] = {RULE_MEMBERS, "id", NULL};

/* The set as it stands and as it is to be. */
struct rules {
    struct store_ruleset set;
    struct store_rule *list;
    size_t n;
};

static void rules_done(struct rules *r)
{
    store_rule_free(r->list, r->n);
}

static int load(struct db *db, const struct http_request *req, struct rules *r, struct err *e)
{
    struct hw_id id;
    int rc = http_request_param_id(req, 0, &id, e);
    rc = rc ? rc : store_ruleset_get(db, &id, &r->set, e);
    return rc ? rc : store_rule_list(db, &id, &r->list, &r->n, e);
}

/* Place of the rule that the path names. */
static int find(const struct http_request *req, const struct rules *r, size_t *at, struct err *e)
{
    struct hw_id id;
    int rc = http_request_param_id(req, 1, &id, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < r->n; i++)
        if (id_equal(&r->list[i].id, &id)) {
            *at = i;
            return 0;
        }
    return err_set(e, HW_ENOTFOUND, "no such rule of this ruleset");
}

/* --- JSON --- */

static int read_rule(const struct json_at *at, enum body_mode mode, struct store_rule *r,
                     struct err *e)
{
    struct rule_match m;
    unsigned action = r->allow;
    int rc = 0;
    rule_match_any(&m);
    if (r->match)
        rc = rule_match_parse(r->match, &m, e);
    if (!rc && body_wants(at, "name", mode, true))
        rc = json_get_name(at, "name", r->name, e);
    if (!rc && body_wants(at, "action", mode, true))
        rc = json_get_enum(at, "action", rule_actions, &action, e);
    r->allow = action == 1;
    if (!rc && body_wants(at, "enabled", mode, false))
        rc = json_get_bool(at, "enabled", &r->enabled, e);
    if (!rc && body_wants(at, "log", mode, false))
        rc = json_get_bool(at, "log", &r->log, e);
    if (!rc && body_wants(at, "description", mode, false))
        rc = body_text_or_null(at, "description", r->description, sizeof r->description, e);
    rc = rc ? rc : rule_match_read(at, &m, e);
    if (rc)
        return rc;
    free(r->match);
    r->match = rule_match_text(&m);
    return r->match ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

/* --- reading --- */

static int list_page(struct db *db, const struct rules *r, const struct page *page,
                     struct http_response *res, struct err *e)
{
    char last[24];
    size_t first = 0, n = 0;
    struct json_writer w;
    char *end = NULL;
    int rc = 0;
    if (page->after)
        first = strtoul(page->after, &end, 10);
    if (page->after && (end == page->after || *end))
        return err_set_field(e, HW_EINVAL, "cursor", "not a cursor of this list");
    if (first > r->n)
        first = r->n;
    page_open(&w);
    for (n = 0; n < page->limit && first + n < r->n && !rc; n++) {
        json_open_object(&w, NULL);
        rc = rule_put(&w, db, &r->list[first + n], first + n, e);
        json_close(&w);
    }
    if (rc) {
        json_writer_done(&w);
        return rc;
    }
    (void)snprintf(last, sizeof last, "%zu", first + n);
    page_close(&w, page, n + (first + n < r->n), last, res);
    return 0;
}

int rules_list(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    static const char *const filters[] = {NULL};
    struct rules r = {0};
    struct page page;
    struct db *db;
    int rc = page_read(req, filters, &page, e);
    if (!rc && !(rc = store_read(app->store, &db, e))) {
        rc = load(db, req, &r, e);
        rc = rc ? rc : list_page(db, &r, &page, res, e);
        store_read_end(db);
    }
    rules_done(&r);
    page_done(&page);
    return rc;
}

/* One rule, with the tag that a change of it may name. Takes the text. */
static void answer_rule(struct http_response *res, uint64_t revision, char *text)
{
    http_response_header(res, "ETag", "\"%llu\"", (unsigned long long)revision);
    http_response_json(res, 200, text);
}

int rules_get(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    struct rules r = {0};
    struct json_writer w;
    struct db *db;
    size_t at = 0;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    json_writer_init(&w);
    rc = load(db, req, &r, e);
    rc = rc ? rc : find(req, &r, &at, e);
    rc = rc ? rc : rule_put(&w, db, &r.list[at], at, e);
    store_read_end(db);
    if (rc)
        json_writer_done(&w);
    else
        answer_rule(res, r.list[at].common.revision, json_finish(&w, NULL));
    rules_done(&r);
    return rc;
}

/* --- writing --- */

/* MOVED: another rank, all else as it was. RENAMED: changed, its name too. */
enum fate { KEPT, MOVED, ADDED, CHANGED, RENAMED };

/* One write: the list as it is to be, with what happened to each rule of it. */
struct edit {
    struct app *app;
    struct http_request *req;
    struct db *db;
    struct json_at top;     /* of the body */
    struct rules r, former; /* `former` is for the audit: what the store had */
    unsigned char *fate;
    struct hw_id *gone;
    size_t n_gone;
    bool whole;            /* the answer is the ruleset */
    size_t first, n_shown; /* rules that the answer is about */
    struct store_answer answer;
};

/* Room for `n` more rules at place `at`: zero, to be added. */
static int open_gap(struct edit *w, size_t at, size_t n, struct err *e)
{
    size_t all = w->r.n + n;
    if (all > FIREWALL_RULES_MAX)
        return err_set_field(e, HW_EINVAL, "rules", "a ruleset has at most %d rules",
                             FIREWALL_RULES_MAX);
    struct store_rule *list = reallocarray(w->r.list, all + 1, sizeof *list);
    if (list)
        w->r.list = list;
    unsigned char *fate = realloc(w->fate, all + 1);
    if (fate)
        w->fate = fate;
    if (!list || !fate)
        return err_set(e, HW_ENOMEM, "out of memory");
    memmove(list + at + n, list + at, (w->r.n - at) * sizeof *list);
    memmove(fate + at + n, fate + at, w->r.n - at);
    memset(list + at, 0, n * sizeof *list);
    memset(fate + at, ADDED, n);
    w->r.n = all;
    return 0;
}

static void close_gap(struct edit *w, size_t at)
{
    w->r.n--;
    memmove(w->r.list + at, w->r.list + at + 1, (w->r.n - at) * sizeof *w->r.list);
    memmove(w->fate + at, w->fate + at + 1, w->r.n - at);
}

static void begin_rule(struct edit *w, size_t at)
{
    struct store_rule *r = &w->r.list[at];
    r->id = id_new();
    r->ruleset_id = w->r.set.id;
    r->enabled = true;
}

/* Ranks for those that have none, between their neighbours; without room there the whole list is
 * numbered anew, and true is returned. */
static bool number_rules(struct edit *w)
{
    struct store_rule *list = w->r.list;
    for (size_t i = 0, run; i < w->r.n; i += run) {
        for (run = 0; i + run < w->r.n && list[i + run].rank == 0; run++)
            ;
        int64_t low = i ? list[i - 1].rank : 0;
        int64_t high =
            i + run < w->r.n ? list[i + run].rank : low + (int64_t)(run + 1) * RULE_RANK_STEP;
        int64_t step = (high - low) / (int64_t)(run + 1);
        for (size_t k = 0; k < run && step > 0; k++)
            list[i + k].rank = low + (int64_t)(k + 1) * step;
        if (run && step == 0) {
            for (size_t k = 0; k < w->r.n; k++)
                list[k].rank = (int64_t)(k + 1) * RULE_RANK_STEP;
            return true;
        }
        run = run ? run : 1;
    }
    return false;
}

static int store_groups(struct edit *w, const struct store_rule *r, struct err *e)
{
    struct hw_id groups[2 * FIREWALL_SIDE_GROUPS_MAX];
    struct rule_match m;
    size_t n = 0;
    int rc = rule_match_parse(r->match, &m, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < m.source.n_groups; i++)
        groups[n++] = m.source.groups[i];
    for (size_t i = 0; i < m.destination.n_groups; i++)
        groups[n++] = m.destination.groups[i];
    return store_rule_groups(w->db, &r->id, groups, n, e);
}

/* Names are free before they are taken: two rules may swap theirs. */
static int free_names(struct edit *w, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < w->n_gone && !rc; i++)
        rc = store_rule_delete(w->db, &w->gone[i], e);
    for (size_t i = 0; i < w->r.n && !rc; i++)
        if (w->fate[i] == RENAMED)
            rc = store_rule_unname(w->db, &w->r.list[i].id, e);
    return rc;
}

static int store_edit(struct edit *w, struct err *e)
{
    int rc = firewall_check(w->db, &w->r.set, w->r.list, w->r.n, e);
    bool anew = number_rules(w);
    rc = rc ? rc : free_names(w, e);
    for (size_t i = 0; i < w->r.n && !rc; i++) {
        struct store_rule *r = &w->r.list[i];
        if (w->fate[i] == KEPT || w->fate[i] == MOVED) {
            bool moves = anew || w->fate[i] == MOVED;
            rc = moves ? store_rule_move(w->db, &r->id, r->rank, e) : 0;
            continue;
        }
        rc = w->fate[i] == ADDED ? store_rule_insert(w->db, r, e) : store_rule_update(w->db, r, e);
        rc = rc ? rc : store_groups(w, r, e);
    }
    return rc ? rc : store_ruleset_update(w->db, &w->r.set, e);
}

static int insert_rules(struct edit *w, struct err *e)
{
    struct json_at array;
    size_t n = 0;
    uint64_t position = w->r.n + 1;
    int rc = json_get_array(&w->top, "rules", INSERT_MAX, &array, &n, e);
    if (!rc && n == 0)
        rc = err_set_field(e, HW_EINVAL, "rules", "at least one rule is needed");
    if (!rc && json_has(&w->top, "position"))
        rc = json_get_uint(&w->top, "position", 1, w->r.n + 1, &position, e);
    w->first = position - 1;
    w->n_shown = n;
    rc = rc ? rc : open_gap(w, w->first, n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at at = json_element(&array, i);
        begin_rule(w, w->first + i);
        rc = json_members(&at, create_members, e);
        rc = rc ? rc : read_rule(&at, BODY_CREATE, &w->r.list[w->first + i], e);
    }
    w->answer.status = 201;
    return rc;
}

static int patch_rule(struct edit *w, struct err *e)
{
    size_t at = 0;
    uint64_t position = 0;
    int rc = find(w->req, &w->r, &at, e);
    rc = rc ? rc : resource_match(w->req, w->r.list[at].common.revision, e);
    rc = rc ? rc : read_rule(&w->top, BODY_PATCH, &w->r.list[at], e);
    if (!rc && json_presence(&w->top, "position") != JSON_ABSENT)
        rc = json_get_uint(&w->top, "position", 1, w->r.n, &position, e);
    if (rc)
        return rc;
    if (position && position - 1 != at) {
        struct store_rule moved = w->r.list[at];
        moved.rank = 0;
        close_gap(w, at);
        at = position - 1;
        rc = open_gap(w, at, 1, e);
        if (rc) {
            free(moved.match);
            return rc;
        }
        w->r.list[at] = moved;
    }
    w->fate[at] = CHANGED;
    w->first = at;
    w->n_shown = 1;
    w->answer.status = 200;
    return 0;
}

static int delete_rule(struct edit *w, struct err *e)
{
    size_t at = 0;
    int rc = find(w->req, &w->r, &at, e);
    rc = rc ? rc : resource_match(w->req, w->r.list[at].common.revision, e);
    if (rc)
        return rc;
    w->gone = calloc(1, sizeof *w->gone);
    if (!w->gone)
        return err_set(e, HW_ENOMEM, "out of memory");
    w->gone[w->n_gone++] = w->r.list[at].id;
    free(w->r.list[at].match);
    close_gap(w, at);
    w->answer.status = 204;
    return 0;
}

/* --- the whole list --- */

static int cmp_rule(const void *a, const void *b)
{
    return id_cmp(&((const struct store_rule *)a)->id, &((const struct store_rule *)b)->id);
}

/* The rule of the former list that an element names, taken out of it: its rank becomes 0. */
static int take_former(const struct json_at *at, const struct rules *former,
                       struct store_rule **out, struct err *e)
{
    struct store_rule key;
    *out = NULL;
    if (!json_has(at, "id"))
        return 0;
    int rc = json_get_id(at, "id", &key.id, e);
    if (rc)
        return rc;
    struct store_rule *found =
        former->n ? bsearch(&key, former->list, former->n, sizeof key, cmp_rule) : NULL;
    struct json_at id;
    rc = json_member(at, "id", &id, e);
    if (!rc && !found)
        rc = json_refuse(&id, e, "no such rule of this ruleset");
    if (!rc && found->rank == 0)
        rc = json_refuse(&id, e, "the rule stands twice in the list");
    *out = rc ? NULL : found;
    return rc;
}

/* Absent members are as in a creation, whatever the former rule of that id had. */
static int replace_rule(struct edit *w, size_t i, const struct json_at *at,
                        const struct rules *former, struct err *e)
{
    struct store_rule *r = &w->r.list[i], *was;
    begin_rule(w, i);
    r->rank = (int64_t)(i + 1) * RULE_RANK_STEP;
    int rc = json_members(at, replaced_members, e);
    rc = rc ? rc : take_former(at, former, &was, e);
    rc = rc ? rc : read_rule(at, BODY_CREATE, r, e);
    if (rc || !was)
        return rc;
    r->id = was->id;
    r->common = was->common;
    if (strcmp(r->name, was->name) != 0)
        w->fate[i] = RENAMED;
    else if (!rules_same(r, was))
        w->fate[i] = CHANGED;
    else
        w->fate[i] = r->rank == was->rank ? KEPT : MOVED;
    was->rank = 0;
    return 0;
}

static int note_gone(struct edit *w, const struct rules *former, struct err *e)
{
    w->gone = calloc(former->n + 1, sizeof *w->gone);
    if (!w->gone)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < former->n; i++)
        if (former->list[i].rank)
            w->gone[w->n_gone++] = former->list[i].id;
    return 0;
}

static int replace_rules(struct edit *w, struct err *e)
{
    struct rules former = {.list = w->r.list, .n = w->r.n};
    struct json_at array;
    size_t n = 0;
    w->r.list = NULL;
    w->r.n = 0;
    int rc = resource_match(w->req, w->r.set.common.revision, e);
    rc = rc ? rc : json_get_array(&w->top, "rules", FIREWALL_RULES_MAX, &array, &n, e);
    rc = rc ? rc : open_gap(w, 0, n, e);
    if (!rc && former.n)
        qsort(former.list, former.n, sizeof *former.list, cmp_rule);
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at at = json_element(&array, i);
        rc = replace_rule(w, i, &at, &former, e);
    }
    rc = rc ? rc : note_gone(w, &former, e);
    rules_done(&former);
    w->whole = true;
    w->answer.status = 200;
    return rc;
}

static int compose_set(struct edit *w, struct err *e)
{
    struct resource_context c = {.app = w->app, .db = w->db};
    struct hw_id id = w->r.set.id;
    struct json_writer out;
    int rc = store_ruleset_get(w->db, &id, &w->r.set, e);
    if (rc)
        return rc;
    json_writer_init(&out);
    rc = rulesets.put(&out, &c, &w->r.set, e);
    if (rc) {
        json_writer_done(&out);
        return rc;
    }
    w->answer.revision = w->r.set.common.revision;
    w->answer.body = json_finish(&out, NULL);
    return w->answer.body ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

/* {"items":[…]} of those inserted; the one rule that was changed; nothing of one that is gone. */
static int compose_answer(struct edit *w, struct err *e)
{
    struct json_writer out;
    int rc = 0;
    if (w->answer.status == 204)
        return 0;
    json_writer_init(&out);
    if (w->answer.status == 201)
        json_open_array(&out, "items");
    for (size_t i = 0; i < w->n_shown && !rc; i++) {
        if (w->answer.status == 201)
            json_open_object(&out, NULL);
        rc = rule_put(&out, w->db, &w->r.list[w->first + i], w->first + i, e);
        if (w->answer.status == 201)
            json_close(&out);
    }
    if (rc) {
        json_writer_done(&out);
        return rc;
    }
    if (w->answer.status == 201)
        json_close(&out);
    w->answer.revision = w->r.set.common.revision; /* of this change */
    w->answer.body = json_finish(&out, NULL);
    return w->answer.body ? idempotency_keep(w->db, w->req, &w->answer, e)
                          : err_set(e, HW_ENOMEM, "out of memory");
}

static int edit_planned(struct edit *w, int (*step)(struct edit *, struct err *),
                        struct publish_result *result, struct err *e)
{
    char set[ID_TEXT_MAX];
    int rc = load(w->db, w->req, &w->r, e);
    if (!rc && !w->req->within)
        rc = load(w->db, w->req, &w->former, e);
    rc = rc ? rc : open_gap(w, w->r.n, 0, e);
    if (!rc)
        memset(w->fate, KEPT, w->r.n);
    rc = rc ? rc : step(w, e);
    rc = rc ? rc : store_edit(w, e);
    rc = rc ? rc : publish_changes(w->app, w->db, PUBLISH_OPERATOR, result, e);
    if (w->answer.status == 201)
        (void)snprintf(w->answer.location, sizeof w->answer.location, "/api/v1/rulesets/%s/rules",
                       id_text(&w->r.set.id, set));
    if (rc)
        return rc;
    return w->whole ? compose_set(w, e) : compose_answer(w, e);
}

static int edit_run(struct edit *w, int (*step)(struct edit *, struct err *), struct err *e)
{
    struct publish_result result = {0};
    if (w->req->within) {
        w->db = w->req->within;
        int tried = edit_planned(w, step, &result, e);
        publish_result_done(&result);
        return tried;
    }
    int rc = store_begin(w->app->store, STORE_CHANGE, &w->db, e);
    if (rc)
        return rc;
    rc = idempotency_find(w->db, w->req, &w->answer, e);
    if (rc != HW_ENOTFOUND) {
        store_rollback(w->db);
        return rc;
    }
    rc = edit_planned(w, step, &result, e);
    if (!rc)
        rc = rules_audit(w->db, w->req, (struct rule_list){w->former.list, w->former.n},
                         (struct rule_list){w->r.list, w->r.n}, e);
    return change_finish(w->app, w->db, rc, &result, e);
}

static int edit_whole(struct edit *w, int (*step)(struct edit *, struct err *),
                      struct http_response *res, struct err *e)
{
    int rc = edit_run(w, step, e);
    if (!rc && w->answer.location[0])
        http_response_header(res, "Location", "%s", w->answer.location);
    if (!rc && w->answer.status == 200)
        answer_rule(res, w->answer.revision, w->answer.body);
    else if (!rc && w->answer.body)
        http_response_json(res, w->answer.status, w->answer.body);
    else if (!rc)
        http_response_empty(res, w->answer.status);
    if (!rc)
        w->answer.body = NULL;
    store_answer_done(&w->answer);
    rules_done(&w->r);
    rules_done(&w->former);
    free(w->fate);
    free(w->gone);
    return rc;
}

static int edit_body(struct app *app, struct http_request *req, struct http_response *res,
                     const char *const *members, int (*step)(struct edit *, struct err *),
                     struct err *e)
{
    struct edit w = {.app = app, .req = req};
    struct json_object *doc;
    int rc = body_object(req, members, &doc, &w.top, e);
    if (rc)
        return rc;
    rc = edit_whole(&w, step, res, e);
    json_free(doc);
    return rc;
}

int rules_create(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    return edit_body(app, req, res, insert_members, insert_rules, e);
}

int rules_replace(struct app *app, struct http_request *req, struct http_response *res,
                  struct err *e)
{
    return edit_body(app, req, res, replace_members, replace_rules, e);
}

int rules_patch(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    return edit_body(app, req, res, patch_members, patch_rule, e);
}

int rules_delete(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    struct edit w = {.app = app, .req = req};
    return edit_whole(&w, delete_rule, res, e);
}
