#include "controller/firewall/section.h"
#include "controller/firewall/match.h"
#include "controller/store/address_group.h"
#include <stdlib.h>
#include <string.h>

struct groups {
    struct store_address_group *rows; /* of the site, by id */
    size_t n_rows;
    bool *used;       /* by a rule */
    uint32_t *number; /* of a used row among those used */
};

static int cmp_group(const void *a, const void *b)
{
    const struct store_address_group *x = a, *y = b;
    return id_cmp(&x->id, &y->id);
}

static const struct store_address_group *find_group(const struct groups *g, const struct hw_id *id)
{
    struct store_address_group key = {.id = *id};
    return g->n_rows ? bsearch(&key, g->rows, g->n_rows, sizeof key, cmp_group) : NULL;
}

static int load_groups(struct db *db, const struct hw_id *site_id, struct groups *g, struct err *e)
{
    int rc = store_address_group_list(db, &(struct store_page){.limit = UINT32_MAX}, site_id,
                                      &g->rows, &g->n_rows, e);
    if (rc)
        return rc;
    g->used = calloc(g->n_rows + 1, sizeof *g->used);
    g->number = calloc(g->n_rows + 1, sizeof *g->number);
    return g->used && g->number ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

static void groups_done(struct groups *g)
{
    store_address_group_free(g->rows, g->n_rows);
    free(g->used);
    free(g->number);
}

/* Used groups in the order of their ids, so that indexes rise where ids do. */
static int take_groups(struct groups *g, struct firewall *f, struct err *e)
{
    f->groups = calloc(g->n_rows + 1, sizeof *f->groups);
    if (!f->groups)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < g->n_rows; i++) {
        if (!g->used[i])
            continue;
        struct store_address_group *row = &g->rows[i];
        g->number[i] = (uint32_t)f->n_groups;
        f->groups[f->n_groups++] = (struct firewall_group){
            .id = row->id, .prefixes = row->prefixes, .n_prefixes = row->n_prefixes};
        row->prefixes = NULL; /* moved */
    }
    return f->n_groups <= FIREWALL_GROUPS_MAX
               ? 0
               : err_set(e, HW_EINVAL, "at most %d address groups in a ruleset",
                         FIREWALL_GROUPS_MAX);
}

/* Its groups as places among the rows, until all rules have said which of them they use. */
static int take_side(struct groups *g, const struct match_side *s, struct firewall_side *out,
                     struct err *e)
{
    out->prefixes = calloc(s->n_prefixes + 1, sizeof *out->prefixes);
    out->groups = calloc(s->n_groups + 1, sizeof *out->groups);
    if (!out->prefixes || !out->groups)
        return err_set(e, HW_ENOMEM, "out of memory");
    out->n_prefixes = s->n_prefixes;
    if (s->n_prefixes)
        memcpy(out->prefixes, s->prefixes, s->n_prefixes * sizeof *s->prefixes);
    for (size_t i = 0; i < s->n_groups; i++) {
        const struct store_address_group *row = find_group(g, &s->groups[i]);
        if (!row)
            return err_set_field(e, HW_EINVAL, "group_ids", "the site has no such address group");
        g->used[row - g->rows] = true;
        out->groups[out->n_groups++] = (uint32_t)(row - g->rows);
    }
    return 0;
}

static int take_rule(struct groups *g, const struct store_rule *r, struct firewall_rule *out,
                     struct err *e)
{
    struct rule_match m;
    int rc = rule_match_parse(r->match, &m, e);
    if (rc)
        return rc;
    *out = (struct firewall_rule){
        .id = r->id,
        .allow = r->allow,
        .log = r->log,
        .protocol = m.protocol,
        .n_source_ports = m.n_source_ports,
        .n_destination_ports = m.n_destination_ports,
    };
    memcpy(out->source_ports, m.source_ports, sizeof out->source_ports);
    memcpy(out->destination_ports, m.destination_ports, sizeof out->destination_ports);
    rc = take_side(g, &m.source, &out->source, e);
    return rc ? rc : take_side(g, &m.destination, &out->destination, e);
}

static void number_groups(const struct groups *g, struct firewall_side *s)
{
    for (size_t i = 0; i < s->n_groups; i++)
        s->groups[i] = g->number[s->groups[i]];
}

static int take_rules(struct groups *g, const struct store_rule *rules, size_t n,
                      struct firewall *f, size_t *index, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        if (index)
            index[i] = rules[i].enabled ? f->n_rules : SIZE_MAX;
        if (rules[i].enabled)
            rc = take_rule(g, &rules[i], &f->rules[f->n_rules++], e);
    }
    rc = rc ? rc : take_groups(g, f, e);
    for (size_t i = 0; i < f->n_rules && !rc; i++) {
        number_groups(g, &f->rules[i].source);
        number_groups(g, &f->rules[i].destination);
    }
    return rc;
}

int firewall_section(struct db *db, const struct store_ruleset *set, const struct store_rule *rules,
                     size_t n, struct firewall *out, size_t *index, struct err *e)
{
    struct groups g = {0};
    struct firewall f = {
        .present = true,
        .ruleset_id = set->id,
        .base_allow = set->base_allow,
        .log_base = set->log_base,
        .rules = calloc(n + 1, sizeof *f.rules),
    };
    int rc =
        f.rules ? load_groups(db, &set->site_id, &g, e) : err_set(e, HW_ENOMEM, "out of memory");
    rc = rc ? rc : take_rules(&g, rules, n, &f, index, e);
    groups_done(&g);
    if (rc)
        firewall_done(&f);
    else
        *out = f;
    return rc;
}

int firewall_section_of_site(struct db *db, const struct hw_id *site_id, struct firewall *out,
                             struct err *e)
{
    struct store_ruleset *set = NULL;
    struct store_rule *rules = NULL;
    size_t n_sets = 0, n = 0;
    *out = (struct firewall){0};
    int rc = store_ruleset_list(db, &(struct store_page){.limit = 1}, site_id, &set, &n_sets, e);
    if (!rc && n_sets && set->enabled) {
        rc = store_rule_list(db, &set->id, &rules, &n, e);
        rc = rc ? rc : firewall_section(db, set, rules, n, out, NULL, e);
        store_rule_free(rules, n);
    }
    free(set);
    return rc;
}
