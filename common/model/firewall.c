#include "common/model/firewall.h"
#include "common/json.h"
#include <stdlib.h>
#include <string.h>

/* Indexed by "allow". */
static const char *const actions[] = {"deny", "allow", NULL};
static const char *const scopes[] = {"site", NULL};

/* ---- config: encode ---- */

static void put_prefixes(struct json_writer *w, const char *key, const struct prefix *p, size_t n)
{
    json_open_array(w, key);
    for (size_t i = 0; i < n; i++)
        json_put_prefix(w, NULL, &p[i]);
    json_close(w);
}

static void put_indexes(struct json_writer *w, const char *key, const uint32_t *v, size_t n)
{
    json_open_array(w, key);
    for (size_t i = 0; i < n; i++)
        json_put_uint(w, NULL, v[i]);
    json_close(w);
}

static void put_ports(struct json_writer *w, const char *key, const struct firewall_ports *p,
                      size_t n)
{
    json_open_array(w, key);
    for (size_t i = 0; i < n; i++) {
        json_open_array(w, NULL);
        json_put_uint(w, NULL, p[i].first);
        json_put_uint(w, NULL, p[i].last);
        json_close(w);
    }
    json_close(w);
}

static void put_rule(struct json_writer *w, const struct firewall_rule *r)
{
    json_open_object(w, NULL);
    json_put_id(w, "id", &r->id);
    json_put_str(w, "action", actions[r->allow]);
    if (r->protocol == FIREWALL_ANY_PROTOCOL)
        json_put_null(w, "protocol");
    else
        json_put_int(w, "protocol", r->protocol);
    put_prefixes(w, "source", r->source.prefixes, r->source.n_prefixes);
    put_indexes(w, "source_groups", r->source.groups, r->source.n_groups);
    put_prefixes(w, "destination", r->destination.prefixes, r->destination.n_prefixes);
    put_indexes(w, "destination_groups", r->destination.groups, r->destination.n_groups);
    put_ports(w, "source_ports", r->source_ports, r->n_source_ports);
    put_ports(w, "destination_ports", r->destination_ports, r->n_destination_ports);
    json_put_bool(w, "log", r->log);
    json_close(w);
}

void firewall_put(struct json_writer *w, const struct firewall *f)
{
    if (!f->present)
        return;
    json_open_object(w, "firewall");
    json_put_id(w, "ruleset_id", &f->ruleset_id);
    json_put_str(w, "scope", scopes[0]);
    json_put_str(w, "base", actions[f->base_allow]);
    json_put_bool(w, "log_base", f->log_base);
    json_open_array(w, "groups");
    for (size_t i = 0; i < f->n_groups; i++) {
        json_open_object(w, NULL);
        json_put_id(w, "id", &f->groups[i].id);
        put_prefixes(w, "prefixes", f->groups[i].prefixes, f->groups[i].n_prefixes);
        json_close(w);
    }
    json_close(w);
    json_open_array(w, "rules");
    for (size_t i = 0; i < f->n_rules; i++)
        put_rule(w, &f->rules[i]);
    json_close(w);
    json_close(w);
}

/* ---- config: decode ---- */

static int get_action(const struct json_at *at, const char *key, bool *allow, struct err *e)
{
    unsigned i = 0;
    int rc = json_get_enum(at, key, actions, &i, e);
    *allow = i == 1;
    return rc;
}

/* Rising and without overlaps: equal sets are equal texts, and no address stands in two of them. */
static int get_prefixes(const struct json_at *at, const char *key, size_t max,
                        struct prefix **prefixes, size_t *n_prefixes, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    struct prefix *p = NULL;
    int rc = json_get_room(at, key, max, sizeof *p, &a, &p, &n, e);
    if (rc || n == 0)
        return rc;
    *prefixes = p;
    *n_prefixes = n;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_as_prefix(&v, &p[i], e);
        if (!rc && i > 0 &&
            (prefix_cmp(&p[i - 1], &p[i]) >= 0 || prefix_overlaps(&p[i - 1], &p[i])))
            rc = json_refuse(&v, e, "prefixes must rise and not overlap");
    }
    return rc;
}

static int get_groups_of(const struct json_at *at, const char *key, size_t n_groups,
                         struct firewall_side *s, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc =
        json_get_room(at, key, FIREWALL_SIDE_GROUPS_MAX, sizeof *s->groups, &a, &s->groups, &n, e);
    if (rc || n == 0)
        return rc;
    s->n_groups = n;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        uint64_t index = 0;
        rc = json_as_uint(&v, 0, UINT32_MAX, &index, e);
        if (!rc && index >= n_groups)
            rc = json_refuse(&v, e, "there is no group %llu", (unsigned long long)index);
        if (!rc && i > 0 && index <= s->groups[i - 1])
            rc = json_refuse(&v, e, "indexes must rise");
        s->groups[i] = (uint32_t)index;
    }
    return rc;
}

static int get_ports(const struct json_at *at, const char *key, int protocol,
                     struct firewall_ports *p, size_t *n, struct err *e)
{
    struct json_at a;
    int rc = json_get_array(at, key, FIREWALL_PORTS_MAX, &a, n, e);
    if (!rc && *n && protocol != FIREWALL_TCP && protocol != FIREWALL_UDP)
        rc = json_refuse(&a, e, "protocol %d has no ports here", protocol);
    for (size_t i = 0; i < *n && !rc; i++) {
        struct json_at pair = json_element(&a, i);
        struct json_at first = json_element(&pair, 0), last = json_element(&pair, 1);
        uint64_t lo = 0, hi = 0;
        if (json_length(&pair) != 2)
            return json_refuse(&pair, e, "[first, last] is expected");
        rc = json_as_uint(&first, 0, UINT16_MAX, &lo, e);
        rc = rc ? rc : json_as_uint(&last, lo, UINT16_MAX, &hi, e);
        if (!rc && i > 0 && lo <= p[i - 1].last)
            rc = json_refuse(&pair, e, "ports must rise and not overlap");
        p[i] = (struct firewall_ports){(uint16_t)lo, (uint16_t)hi};
    }
    return rc;
}

static int get_side(const struct json_at *at, const char *key, const char *groups_key,
                    size_t n_groups, struct firewall_side *s, struct err *e)
{
    int rc = get_prefixes(at, key, FIREWALL_SIDE_PREFIXES_MAX, &s->prefixes, &s->n_prefixes, e);
    return rc ? rc : get_groups_of(at, groups_key, n_groups, s, e);
}

static int get_rule(const struct json_at *at, size_t n_groups, struct firewall_rule *r,
                    struct err *e)
{
    static const char *const members[] = {"id",
                                          "action",
                                          "protocol",
                                          "source",
                                          "source_groups",
                                          "destination",
                                          "destination_groups",
                                          "source_ports",
                                          "destination_ports",
                                          "log",
                                          NULL};
    int64_t protocol = FIREWALL_ANY_PROTOCOL;
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_get_id(at, "id", &r->id, e);
    rc = rc ? rc : get_action(at, "action", &r->allow, e);
    if (!rc && json_presence(at, "protocol") != JSON_NULL)
        rc = json_get_int(at, "protocol", 0, 255, &protocol, e);
    r->protocol = (int)protocol;
    rc = rc ? rc : get_side(at, "source", "source_groups", n_groups, &r->source, e);
    rc = rc ? rc : get_side(at, "destination", "destination_groups", n_groups, &r->destination, e);
    rc = rc ? rc
            : get_ports(at, "source_ports", r->protocol, r->source_ports, &r->n_source_ports, e);
    rc = rc ? rc
            : get_ports(at, "destination_ports", r->protocol, r->destination_ports,
                        &r->n_destination_ports, e);
    rc = rc ? rc : json_get_bool(at, "log", &r->log, e);
    return rc;
}

static int get_groups(const struct json_at *at, struct firewall *f, struct err *e)
{
    static const char *const members[] = {"id", "prefixes", NULL};
    struct json_at a;
    size_t n = 0;
    int rc =
        json_get_room(at, "groups", FIREWALL_GROUPS_MAX, sizeof *f->groups, &a, &f->groups, &n, e);
    if (rc || n == 0)
        return rc;
    f->n_groups = n;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        struct firewall_group *g = &f->groups[i];
        rc = json_members(&v, members, e);
        rc = rc ? rc : json_get_id(&v, "id", &g->id, e);
        rc = rc ? rc
                : get_prefixes(&v, "prefixes", FIREWALL_GROUP_PREFIXES_MAX, &g->prefixes,
                               &g->n_prefixes, e);
    }
    return rc;
}

static int cmp_rule_id(const void *a, const void *b)
{
    return id_cmp(a, b);
}

/* Counters and log lines name rules by their ids. */
static int check_rule_ids(const struct json_at *a, const struct firewall *f, struct err *e)
{
    struct hw_id *ids = calloc(f->n_rules, sizeof *ids);
    int rc = 0;
    if (!ids)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < f->n_rules; i++)
        ids[i] = f->rules[i].id;
    qsort(ids, f->n_rules, sizeof *ids, cmp_rule_id);
    for (size_t i = 1; i < f->n_rules && !rc; i++) {
        char text[ID_TEXT_MAX];
        if (id_equal(&ids[i - 1], &ids[i]))
            rc = json_refuse(a, e, "rule %s stands twice", id_text(&ids[i], text));
    }
    free(ids);
    return rc;
}

static int get_rules(const struct json_at *at, struct firewall *f, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_room(at, "rules", FIREWALL_RULES_MAX, sizeof *f->rules, &a, &f->rules, &n, e);
    if (rc || n == 0)
        return rc;
    f->n_rules = n;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = get_rule(&v, f->n_groups, &f->rules[i], e);
    }
    return rc ? rc : check_rule_ids(&a, f, e);
}

int firewall_get(const struct json_at *top, struct firewall *f, struct err *e)
{
    static const char *const members[] = {"ruleset_id", "scope", "base", "log_base",
                                          "groups",     "rules", NULL};
    struct json_at o;
    unsigned scope = 0;
    if (!json_has(top, "firewall"))
        return 0;
    int rc = json_get_object(top, "firewall", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : json_get_id(&o, "ruleset_id", &f->ruleset_id, e);
    rc = rc ? rc : json_get_enum(&o, "scope", scopes, &scope, e);
    rc = rc ? rc : get_action(&o, "base", &f->base_allow, e);
    rc = rc ? rc : json_get_bool(&o, "log_base", &f->log_base, e);
    rc = rc ? rc : get_groups(&o, f, e);
    rc = rc ? rc : get_rules(&o, f, e);
    f->present = true;
    return rc;
}

void firewall_done(struct firewall *f)
{
    for (size_t i = 0; i < f->n_groups; i++)
        free(f->groups[i].prefixes);
    for (size_t i = 0; i < f->n_rules; i++) {
        free(f->rules[i].source.prefixes);
        free(f->rules[i].source.groups);
        free(f->rules[i].destination.prefixes);
        free(f->rules[i].destination.groups);
    }
    free(f->groups);
    free(f->rules);
    *f = (struct firewall){0};
}

/* ---- copy ---- */

/* NULL without elements; *ok is false when out of memory. */
static void *copy_array(const void *from, size_t n, size_t size, bool *ok)
{
    void *to = n ? malloc(n * size) : NULL;
    if (to)
        memcpy(to, from, n * size);
    *ok = *ok && (to || !n);
    return to;
}

static void copy_side(struct firewall_side *s, bool *ok)
{
    s->prefixes = copy_array(s->prefixes, s->n_prefixes, sizeof *s->prefixes, ok);
    s->groups = copy_array(s->groups, s->n_groups, sizeof *s->groups, ok);
}

int firewall_copy(const struct firewall *f, struct firewall *out, struct err *e)
{
    struct firewall c = *f;
    bool ok = true;
    c.groups = copy_array(f->groups, f->n_groups, sizeof *f->groups, &ok);
    c.rules = copy_array(f->rules, f->n_rules, sizeof *f->rules, &ok);
    c.n_groups = c.groups ? f->n_groups : 0;
    c.n_rules = c.rules ? f->n_rules : 0;
    for (size_t i = 0; i < c.n_groups; i++)
        c.groups[i].prefixes = copy_array(c.groups[i].prefixes, c.groups[i].n_prefixes,
                                          sizeof *c.groups[i].prefixes, &ok);
    for (size_t i = 0; i < c.n_rules; i++) {
        copy_side(&c.rules[i].source, &ok);
        copy_side(&c.rules[i].destination, &ok);
    }
    if (!ok) {
        firewall_done(&c);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    *out = c;
    return 0;
}

/* ---- report ---- */

static void put_count(struct json_writer *w, const char *key, const struct firewall_count *c)
{
    json_open_array(w, key);
    json_put_uint(w, NULL, c->packets);
    json_put_uint(w, NULL, c->bytes);
    json_close(w);
}

void firewall_report_put(struct json_writer *w, const struct firewall_report *r)
{
    if (!r->present)
        return;
    json_open_object(w, "firewall");
    json_put_id(w, "ruleset_id", &r->ruleset_id);
    json_put_bool(w, "applied", r->applied);
    json_put_str(w, "error", r->error[0] ? r->error : NULL);
    put_count(w, "base", &r->base);
    put_count(w, "established", &r->established);
    put_count(w, "invalid", &r->invalid);
    json_open_array(w, "rules");
    for (size_t i = 0; i < r->n_rules; i++) {
        json_open_array(w, NULL);
        json_put_id(w, NULL, &r->rules[i].rule_id);
        json_put_uint(w, NULL, r->rules[i].count.packets);
        json_put_uint(w, NULL, r->rules[i].count.bytes);
        json_close(w);
    }
    json_close(w);
    json_close(w);
}

/* Two counters of the array `a`, from element `first`. */
static int get_count_at(const struct json_at *a, size_t first, struct firewall_count *c,
                        struct err *e)
{
    struct json_at packets = json_element(a, first), bytes = json_element(a, first + 1);
    if (json_length(a) != first + 2)
        return json_refuse(a, e, "%zu elements are expected", first + 2);
    int rc = json_as_uint(&packets, 0, UINT64_MAX, &c->packets, e);
    return rc ? rc : json_as_uint(&bytes, 0, UINT64_MAX, &c->bytes, e);
}

static int get_count(const struct json_at *at, const char *key, struct firewall_count *c,
                     struct err *e)
{
    struct json_at a;
    size_t n;
    int rc = json_get_array(at, key, 2, &a, &n, e);
    return rc ? rc : get_count_at(&a, 0, c, e);
}

static int get_rule_counts(const struct json_at *at, struct firewall_report *r, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_room(at, "rules", FIREWALL_REPORT_RULES_MAX, sizeof *r->rules, &a, &r->rules,
                           &n, e);
    if (rc || n == 0)
        return rc;
    r->n_rules = n;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i), id = json_element(&v, 0);
        rc = get_count_at(&v, 1, &r->rules[i].count, e);
        rc = rc ? rc : json_as_id(&id, &r->rules[i].rule_id, e);
    }
    return rc;
}

int firewall_report_get(const struct json_at *top, struct firewall_report *r, struct err *e)
{
    static const char *const members[] = {"ruleset_id",  "applied", "error", "base",
                                          "established", "invalid", "rules", NULL};
    struct json_at o;
    if (!json_has(top, "firewall"))
        return 0;
    int rc = json_get_object(top, "firewall", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : json_get_id(&o, "ruleset_id", &r->ruleset_id, e);
    rc = rc ? rc : json_get_bool(&o, "applied", &r->applied, e);
    if (!rc && json_presence(&o, "error") != JSON_NULL)
        rc = json_get_text(&o, "error", r->error, sizeof r->error, e);
    rc = rc ? rc : get_count(&o, "base", &r->base, e);
    rc = rc ? rc : get_count(&o, "established", &r->established, e);
    rc = rc ? rc : get_count(&o, "invalid", &r->invalid, e);
    rc = rc ? rc : get_rule_counts(&o, r, e);
    r->present = true;
    return rc;
}

void firewall_report_done(struct firewall_report *r)
{
    free(r->rules);
    *r = (struct firewall_report){0};
}
