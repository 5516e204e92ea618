#include "controller/firewall/checks.h"
#include "common/model/firewall_fold.h"
#include "controller/firewall/section.h"
#include "controller/store/site.h"
#include <stdlib.h>

static bool touches(const struct store_site *site, const struct prefix *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < site->n_cidrs; k++)
            if (prefix_overlaps(&p[i], &site->cidrs[k]))
                return true;
    return false;
}

/* A side without addresses is any address, the site's too. */
static bool side_touches(const struct store_site *site, const struct firewall *f,
                         const struct firewall_side *s)
{
    if (s->n_prefixes == 0 && s->n_groups == 0)
        return true;
    bool found = touches(site, s->prefixes, s->n_prefixes);
    for (size_t i = 0; i < s->n_groups && !found; i++)
        found = touches(site, f->groups[s->groups[i]].prefixes, f->groups[s->groups[i]].n_prefixes);
    return found;
}

static int refuse(const struct store_rule *r, const char *field, const char *why, struct err *e)
{
    return err_set_field(e, HW_EINVAL, field, "rule %s: %s", r->name, why);
}

static int judge(const struct store_rule *rules, size_t i, const size_t *place, size_t n,
                 const struct fold_rule *fate, struct err *e)
{
    if (fate->fate == FOLD_MET)
        return 0;
    if (fate->fate == FOLD_EMPTY)
        return refuse(&rules[i], "destination",
                      "its addresses are of different families, or a group of it is empty", e);
    for (size_t k = 0; k < n; k++)
        if (place[k] == fate->by)
            return err_set_field(e, HW_EINVAL, "position",
                                 "rule %s: earlier rules take all of its packets, up to rule %s",
                                 rules[i].name, rules[k].name);
    return refuse(&rules[i], "position", "earlier rules take all of its packets", e);
}

static int check_section(const struct store_site *site, const struct firewall *f,
                         const struct store_rule *rules, const size_t *place, size_t n,
                         struct err *e)
{
    struct firewall_fold fold;
    struct err why = {0};
    int rc = firewall_fold(f, &fold, &why);
    /* The request itself is no larger than others. */
    if (rc)
        return err_set_field(e, rc == HW_ETOOBIG ? HW_EINVAL : rc, "rules", "%s", why.text);
    for (size_t i = 0; i < n && !rc; i++) {
        if (place[i] == SIZE_MAX)
            continue;
        const struct firewall_rule *r = &f->rules[place[i]];
        if (!side_touches(site, f, &r->source) && !side_touches(site, f, &r->destination))
            rc = refuse(&rules[i], "source", "neither source nor destination is of the site", e);
        rc = rc ? rc : judge(rules, i, place, n, &fold.rules[place[i]], e);
    }
    firewall_fold_done(&fold);
    return rc;
}

int firewall_check(struct db *db, const struct store_ruleset *set, const struct store_rule *rules,
                   size_t n, struct err *e)
{
    struct store_site site;
    struct firewall f = {0};
    size_t *place = calloc(n + 1, sizeof *place);
    if (!place)
        return err_set(e, HW_ENOMEM, "out of memory");
    if (n > FIREWALL_RULES_MAX) {
        free(place);
        return err_set_field(e, HW_EINVAL, "rules", "at most %d rules", FIREWALL_RULES_MAX);
    }
    int rc = store_site_get(db, &set->site_id, &site, e);
    rc = rc ? rc : firewall_section(db, set, rules, n, &f, place, e);
    rc = rc ? rc : check_section(&site, &f, rules, place, n, e);
    firewall_done(&f);
    free(place);
    return rc;
}

int firewall_check_site(struct db *db, const struct hw_id *site_id, const char *field,
                        struct err *e)
{
    struct store_ruleset *set = NULL;
    struct store_rule *rules = NULL;
    size_t n_sets = 0, n = 0;
    struct err why = {0};
    int rc = store_ruleset_list(db, &(struct store_page){.limit = 1}, site_id, &set, &n_sets, e);
    if (rc || !n_sets || !set->rules_total) {
        free(set);
        return rc;
    }
    rc = store_rule_list(db, &set->id, &rules, &n, e);
    if (!rc && (rc = firewall_check(db, set, rules, n, &why)))
        (void)err_set_field(e, rc, field, "ruleset %s: %s", set->name, why.text);
    store_rule_free(rules, n);
    free(set);
    return rc;
}
