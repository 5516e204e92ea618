#include "agent/control/firewall/counts.h"
#include "agent/control/firewall/nft_text.h"
#include "common/json.h"
#include <stdlib.h>
#include <string.h>

/* 20,000 elements of IPv6 at some 350 bytes each, and room. */
#define LISTING_MAX (16u << 20)
#define ITEMS_MAX   65536

static int cmp_id(const void *a, const void *b)
{
    const struct rule_count *const *x = a, *const *y = b;
    return id_cmp(&(*x)->rule_id, &(*y)->rule_id);
}

/* Pointers to the rules, by id. NULL when out of memory. */
static struct rule_count **by_id(const struct firewall_counts *c)
{
    struct rule_count **sorted = calloc(c->n_rules ? c->n_rules : 1, sizeof *sorted);
    for (size_t i = 0; sorted && i < c->n_rules; i++)
        sorted[i] = &c->rules[i];
    if (sorted)
        qsort(sorted, c->n_rules, sizeof(struct rule_count *), cmp_id);
    return sorted;
}

static struct rule_count *find(struct rule_count **sorted, size_t n, const struct hw_id *id)
{
    struct rule_count key = {.rule_id = *id}, *p = &key;
    struct rule_count **at = n ? bsearch(&p, sorted, n, sizeof(struct rule_count *), cmp_id) : NULL;
    return at ? *at : NULL;
}

int firewall_counts_next(const struct firewall_counts *c, const struct firewall *f,
                         struct firewall_counts *out, struct err *e)
{
    struct rule_count *rules = calloc(f->n_rules ? f->n_rules : 1, sizeof *rules);
    struct rule_count **sorted = by_id(c);
    if (!rules || !sorted) {
        free(rules);
        free(sorted);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    *out = (struct firewall_counts){
        .ruleset_id = f->ruleset_id, .rules = rules, .n_rules = f->n_rules, .looks = c->looks};
    for (size_t i = 0; i < f->n_rules; i++) {
        const struct rule_count *had = find(sorted, c->n_rules, &f->rules[i].id);
        if (had)
            rules[i] = *had;
        rules[i].rule_id = f->rules[i].id;
    }
    if (id_equal(&c->ruleset_id, &f->ruleset_id)) {
        out->base = c->base;
        out->established = c->established;
        out->invalid = c->invalid;
    }
    free(sorted);
    return 0;
}

/* ---- the listing ---- */

static int add_counter(const struct json_at *at, struct firewall_count *c, struct err *e)
{
    uint64_t packets = 0, bytes = 0;
    int rc = json_get_uint(at, "packets", 0, UINT64_MAX, &packets, e);
    rc = rc ? rc : json_get_uint(at, "bytes", 0, UINT64_MAX, &bytes, e);
    c->packets += packets;
    c->bytes += bytes;
    return rc;
}

static int look_named(struct firewall_counts *c, const struct json_at *at, struct err *e)
{
    const char *name = "";
    int rc = json_get_str(at, "name", HW_TEXT_MAX, &name, e);
    if (rc)
        return rc;
    if (strcmp(name, "base") == 0)
        return add_counter(at, &c->base, e);
    if (strcmp(name, "established") == 0)
        return add_counter(at, &c->established, e);
    return strcmp(name, "invalid") == 0 ? add_counter(at, &c->invalid, e) : 0;
}

/* [{"elem":{"val":…,"comment":"RULE","counter":{…}}}, verdict] */
static int look_element(struct firewall_counts *c, const struct json_at *pair, struct err *e)
{
    struct json_at first = json_element(pair, 0), elem, counter;
    const char *comment = "";
    char *end;
    int rc = json_get_object(&first, "elem", &elem, e);
    rc = rc ? rc : json_get_str(&elem, "comment", HW_TEXT_MAX, &comment, e);
    rc = rc ? rc : json_get_object(&elem, "counter", &counter, e);
    if (rc)
        return rc;
    unsigned long index = strtoul(comment, &end, 10);
    if (end == comment || *end || index >= c->n_rules)
        return json_refuse(&elem, e, "there is no rule %s", comment);
    return add_counter(&counter, &c->rules[index].now, e);
}

static int look_map(struct firewall_counts *c, const struct json_at *map, struct err *e)
{
    struct json_at elements;
    size_t n = 0;
    int rc = 0;
    if (json_has(map, "elem"))
        rc = json_get_array(map, "elem", ITEMS_MAX, &elements, &n, e);
    c->elements += n;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at pair = json_element(&elements, i);
        rc = look_element(c, &pair, e);
    }
    return rc;
}

static int look_rule(struct firewall_counts *c, const struct json_at *rule, struct err *e)
{
    const char *chain = "";
    int rc = json_get_str(rule, "chain", HW_TEXT_MAX, &chain, e);
    if (!rc && strcmp(chain, FIREWALL_EDGE) == 0)
        c->edge_rules++;
    return rc;
}

static int look_all(struct firewall_counts *c, const struct json_at *top, struct err *e)
{
    struct json_at items, part;
    size_t n = 0;
    int rc = json_get_array(top, "nftables", ITEMS_MAX, &items, &n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at item = json_element(&items, i);
        if (json_has(&item, "counter") && !(rc = json_get_object(&item, "counter", &part, e)))
            rc = look_named(c, &part, e);
        else if (json_has(&item, "map") && !(rc = json_get_object(&item, "map", &part, e)))
            rc = look_map(c, &part, e);
        else if (json_has(&item, "rule") && !(rc = json_get_object(&item, "rule", &part, e)))
            rc = look_rule(c, &part, e);
    }
    return rc;
}

static void note(struct rule_count *c, uint64_t look)
{
    if (c->ever_told && c->told.packets == c->now.packets && c->told.bytes == c->now.bytes)
        c->untold_since = 0;
    else if (!c->untold_since)
        c->untold_since = look;
}

int firewall_counts_look(struct firewall_counts *c, const char *listing, struct err *e)
{
    struct json_object *doc;
    int rc = json_parse(listing, strlen(listing), LISTING_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    for (size_t i = 0; i < c->n_rules; i++)
        c->rules[i].now = (struct firewall_count){0};
    c->base = c->established = c->invalid = (struct firewall_count){0};
    c->edge_rules = c->elements = 0;
    rc = look_all(c, &top, e);
    json_free(doc);
    c->looks++;
    for (size_t i = 0; i < c->n_rules; i++)
        note(&c->rules[i], c->looks);
    return rc;
}

/* ---- reports ---- */

static int cmp_untold(const void *a, const void *b)
{
    const struct rule_count *const *x = a, *const *y = b;
    if ((*x)->untold_since != (*y)->untold_since)
        return (*x)->untold_since < (*y)->untold_since ? -1 : 1;
    return id_cmp(&(*x)->rule_id, &(*y)->rule_id);
}

int firewall_counts_report(struct firewall_counts *c, struct firewall_report *r, struct err *e)
{
    struct rule_count **untold = calloc(c->n_rules ? c->n_rules : 1, sizeof *untold);
    size_t n = 0;
    if (!untold)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < c->n_rules; i++) {
        c->rules[i].is_offered = false;
        if (c->rules[i].untold_since)
            untold[n++] = &c->rules[i];
    }
    qsort(untold, n, sizeof(struct rule_count *), cmp_untold);
    if (n > FIREWALL_REPORT_RULES_MAX)
        n = FIREWALL_REPORT_RULES_MAX;
    r->rules = calloc(n ? n : 1, sizeof *r->rules);
    r->n_rules = r->rules ? n : 0;
    for (size_t i = 0; i < r->n_rules; i++) {
        untold[i]->is_offered = true;
        untold[i]->offered = untold[i]->now;
        r->rules[i] = (struct firewall_rule_count){untold[i]->rule_id, untold[i]->now};
    }
    r->ruleset_id = c->ruleset_id;
    r->base = c->base;
    r->established = c->established;
    r->invalid = c->invalid;
    free(untold);
    return r->rules ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

void firewall_counts_told(struct firewall_counts *c)
{
    for (size_t i = 0; i < c->n_rules; i++) {
        struct rule_count *r = &c->rules[i];
        if (!r->is_offered)
            continue;
        r->is_offered = false;
        r->told = r->offered;
        r->ever_told = true;
        r->untold_since = 0;
        note(r, c->looks);
    }
}

void firewall_counts_done(struct firewall_counts *c)
{
    free(c->rules);
    *c = (struct firewall_counts){0};
}
