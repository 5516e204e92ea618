#include "controller/api/rules_audit.h"
#include "controller/api/rule_json.h"
#include "controller/audit/audit.h"
#include "controller/audit/difference.h"
#include "controller/http/router.h"
#include <stdlib.h>
#include <string.h>

/* A rule before and after the write; NULL where it isn't there. */
struct pair {
    const struct store_rule *was, *is;
    size_t was_at, is_at;
    bool told;
};

struct pairs {
    struct pair *v;
    size_t n, told;
};

bool rules_same(const struct store_rule *a, const struct store_rule *b)
{
    return a->enabled == b->enabled && a->allow == b->allow && a->log == b->log &&
           strcmp(a->name, b->name) == 0 && strcmp(a->description, b->description) == 0 &&
           strcmp(a->match, b->match) == 0;
}

static int cmp_was(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return id_cmp(&x->was->id, &y->was->id);
}

/* Those that stand now, in their order, then those that went. */
static int pair_up(struct rule_list before, struct rule_list after, struct pairs *out,
                   struct err *e)
{
    struct pair *former = calloc(before.n + 1, sizeof *former);
    *out = (struct pairs){.v = calloc(before.n + after.n + 1, sizeof *out->v)};
    if (!former || !out->v) {
        free(former);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < before.n; i++)
        former[i] = (struct pair){.was = &before.v[i], .was_at = i, .told = true};
    qsort(former, before.n, sizeof *former, cmp_was);
    for (size_t i = 0; i < after.n; i++) {
        struct pair key = {.was = &after.v[i]};
        struct pair *f = bsearch(&key, former, before.n, sizeof *former, cmp_was);
        struct pair *p = &out->v[out->n++];
        *p = (struct pair){.is = &after.v[i], .is_at = i, .told = true};
        if (f) {
            p->was = f->was;
            p->was_at = f->was_at;
            p->told = !rules_same(f->was, p->is);
            f->told = false;
        }
    }
    for (size_t i = 0; i < before.n; i++)
        if (former[i].told)
            out->v[out->n++] = former[i];
    free(former);
    return 0;
}

/* A rule that another one overtook. Whatever only stands elsewhere because others came or went has
 * the meaning that it had. */
static void tell_moved(struct pairs *all)
{
    size_t last = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct pair *p = &all->v[i];
        if (p->was && p->is && p->was_at < last)
            p->told = true;
        else if (p->was && p->is)
            last = p->was_at;
    }
    for (size_t i = 0; i < all->n; i++)
        all->told += all->v[i].told;
}

/* *out stays NULL without a rule. */
static int rule_text(struct db *db, const struct store_rule *r, size_t at, char **out,
                     struct err *e)
{
    struct json_writer w;
    if (!r)
        return 0;
    json_writer_init(&w);
    int rc = rule_put(&w, db, r, at, e);
    if (rc) {
        json_writer_done(&w);
        return rc;
    }
    *out = json_finish(&w, NULL);
    return *out ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

static int tell_rule(struct db *db, const struct http_request *req, const struct pair *p,
                     struct err *e)
{
    char *was = NULL, *is = NULL, *before = NULL, *after = NULL;
    int rc = rule_text(db, p->was, p->was_at, &was, e);
    rc = rc ? rc : rule_text(db, p->is, p->is_at, &is, e);
    rc = rc ? rc : audit_difference(was, is, NULL, &before, &after, e);
    struct audit_change c = {
        .type = "rules", .id = p->is ? &p->is->id : &p->was->id, .before = before, .after = after};
    rc = rc ? rc : audit_request(db, req, &c, e);
    free(was);
    free(is);
    free(before);
    free(after);
    return rc;
}

/* One rule whole, without what is merely observed of it. */
static int put_whole(struct json_writer *w, struct db *db, const struct store_rule *r, size_t at,
                     struct err *e)
{
    char *text = NULL, *told = NULL, *none = NULL;
    int rc = rule_text(db, r, at, &text, e);
    if (!rc && text)
        rc = audit_difference(NULL, text, NULL, &none, &told, e);
    if (!rc && told)
        json_put_raw(w, NULL, told);
    free(text);
    return rc;
}

int rules_audit_put(struct json_writer *w, struct db *db, const struct hw_id *ruleset_id,
                    struct err *e)
{
    struct store_rule *list = NULL;
    size_t n = 0;
    int rc = store_rule_list(db, ruleset_id, &list, &n, e);
    if (rc)
        return rc;
    json_open_array(w, "rules");
    for (size_t i = 0; i < n && !rc; i++)
        rc = put_whole(w, db, &list[i], i, e);
    json_close(w);
    store_rule_free(list, n);
    return rc;
}

static int list_text(struct db *db, const struct pairs *all, bool after, char **out, struct err *e)
{
    struct json_writer w;
    int rc = 0;
    json_writer_init(&w);
    json_open_array(&w, "rules");
    for (size_t i = 0; i < all->n && !rc; i++) {
        const struct pair *p = &all->v[i];
        if (p->told)
            rc = after ? put_whole(&w, db, p->is, p->is_at, e)
                       : put_whole(&w, db, p->was, p->was_at, e);
    }
    json_close(&w);
    if (rc) {
        json_writer_done(&w);
        return rc;
    }
    *out = json_finish(&w, NULL);
    return *out ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

static int tell_list(struct db *db, const struct http_request *req, const struct pairs *all,
                     struct err *e)
{
    char *before = NULL, *after = NULL;
    int rc = list_text(db, all, false, &before, e);
    rc = rc ? rc : list_text(db, all, true, &after, e);
    struct audit_change c = {.before = before, .after = after};
    rc = rc ? rc : audit_request(db, req, &c, e);
    free(before);
    free(after);
    return rc;
}

/* The one rule that the record is about; NULL: it is about the set. */
static const struct pair *single(const struct http_request *req, const struct pairs *all)
{
    struct hw_id id = {0};
    bool named = req->n_params > 1 && !id_parse(req->params[1], &id);
    for (size_t i = 0; i < all->n; i++) {
        const struct pair *p = &all->v[i];
        if (named ? id_equal(p->is ? &p->is->id : &p->was->id, &id)
                  : p->told && all->told == 1 && req->route->method == HTTP_POST)
            return p;
    }
    return NULL;
}

int rules_audit(struct db *db, const struct http_request *req, struct rule_list before,
                struct rule_list after, struct err *e)
{
    struct pairs all;
    int rc = pair_up(before, after, &all, e);
    if (!rc) {
        tell_moved(&all);
        const struct pair *one = single(req, &all);
        rc = one ? tell_rule(db, req, one, e) : tell_list(db, req, &all, e);
    }
    free(all.v);
    return rc;
}
