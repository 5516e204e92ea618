/* Whose counts are a rule's, and what sums of any counts are. */
#include "controller/store/rule.h"
#include "controller/store/rule_counter.h"
#include "controller/store/ruleset.h"
#include "tests/unit/controller/store_file.h"
#include <stdlib.h>
#include <string.h>

struct edge {
    struct fleet f;
    struct store_ruleset set; /* of site a */
    struct store_rule rule;
    struct db *db;
};

static struct edge *edge_new(void)
{
    static char any[] = "{}";
    struct edge *x = calloc(1, sizeof *x);
    fresh();
    make_fleet(&x->f);
    x->db = begin(STORE_CHANGE);
    x->set = (struct store_ruleset){.id = id_new(), .name = "edge", .site_id = x->f.a.id};
    CU_ASSERT_EQUAL_FATAL(store_ruleset_insert(x->db, &x->set, NULL), 0);
    x->rule = (struct store_rule){
        .id = id_new(), .ruleset_id = x->set.id, .rank = 1, .name = "one", .match = any};
    CU_ASSERT_EQUAL_FATAL(store_rule_insert(x->db, &x->rule, NULL), 0);
    return x;
}

static void edge_done(struct edge *x)
{
    store_rollback(x->db);
    free(x);
}

static void report(struct edge *x, const struct hw_id *gateway, uint64_t n)
{
    struct firewall_count c = {.packets = n, .bytes = n};
    CU_ASSERT_EQUAL(store_rule_counter_add(x->db, &x->set.id, "base", gateway, &c, NULL), 0);
    CU_ASSERT_EQUAL(store_rule_counter_add(x->db, &x->rule.id, "rule", gateway, &c, NULL), 0);
}

/* Of the rule and of the base policy, which are to be the same. */
static uint64_t total(struct edge *x)
{
    struct store_rule_counter base = {0}, rule = {0};
    CU_ASSERT_EQUAL(store_rule_counter_get(x->db, &x->set.id, "base", &base, NULL), 0);
    CU_ASSERT_EQUAL(store_rule_counter_get(x->db, &x->rule.id, "rule", &rule, NULL), 0);
    CU_ASSERT_EQUAL(base.packets, rule.packets);
    CU_ASSERT_EQUAL(base.bytes, base.packets);
    CU_ASSERT_EQUAL(rule.bytes, base.packets);
    CU_ASSERT_EQUAL(base.observed_at != 0, base.packets != 0);
    return base.packets;
}

static void other_sites_are_passed_over(void)
{
    struct edge *x = edge_new();
    report(x, &x->f.gb.id, 5);
    CU_ASSERT_EQUAL(total(x), 0);
    report(x, &x->f.ga.id, 7);
    CU_ASSERT_EQUAL(total(x), 7);
    /* A ruleset's id is no rule's, nor the other way round. */
    struct firewall_count c = {1, 1};
    struct store_rule_counter got;
    CU_ASSERT_EQUAL(store_rule_counter_add(x->db, &x->set.id, "rule", &x->f.ga.id, &c, NULL), 0);
    CU_ASSERT_EQUAL(store_rule_counter_get(x->db, &x->set.id, "rule", &got, NULL), 0);
    CU_ASSERT_EQUAL(got.observed_at, 0);
    edge_done(x);
}

static void counts_go_with_the_site(void)
{
    struct edge *x = edge_new();
    report(x, &x->f.ga.id, 7);
    x->f.ga.site_id = x->f.b.id;
    CU_ASSERT_EQUAL(store_gateway_update(x->db, &x->f.ga, NULL), 0);
    CU_ASSERT_EQUAL(total(x), 0);
    x->f.ga.site_id = x->f.a.id;
    CU_ASSERT_EQUAL(store_gateway_update(x->db, &x->f.ga, NULL), 0);
    report(x, &x->f.ga.id, 3);
    CU_ASSERT_EQUAL(total(x), 3);
    x->set.description[0] = 'x';
    CU_ASSERT_EQUAL(store_ruleset_update(x->db, &x->set, NULL), 0);
    CU_ASSERT_EQUAL(total(x), 3);
    x->set.site_id = x->f.b.id;
    CU_ASSERT_EQUAL(store_ruleset_update(x->db, &x->set, NULL), 0);
    CU_ASSERT_EQUAL(total(x), 0);
    edge_done(x);
}

static void sums_end_at_the_largest(void)
{
    struct edge *x = edge_new();
    struct store_gateway more = gateway("more", &x->f.a.id);
    CU_ASSERT_EQUAL(store_gateway_insert(x->db, &more, NULL), 0);
    report(x, &x->f.ga.id, UINT64_MAX);
    report(x, &x->f.ga.id, 9);
    CU_ASSERT_EQUAL(total(x), INT64_MAX);
    report(x, &x->f.ga.id, UINT64_MAX);
    report(x, &more.id, UINT64_MAX);
    CU_ASSERT_EQUAL(total(x), INT64_MAX);
    edge_done(x);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"other sites are passed over", other_sites_are_passed_over},
        {"counts go with the site", counts_go_with_the_site},
        {"sums end at the largest", sums_end_at_the_largest},
        CU_TEST_INFO_NULL,
    };
    return store_suite_run("store_rule_counters", tests);
}
