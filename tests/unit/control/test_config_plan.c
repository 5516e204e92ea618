/* What a change of config touches, and in which order. */
#include "agent/control/config_plan.h"
#include "common/dp_proto.h"
#include "tests/unit/control/sample_config.h"
#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>

#define LINKS_MAX 64

static struct gateway_state state_of(const struct sample *s, uint64_t revision, uint32_t mtu)
{
    struct gateway_config c = sample_config(s);
    struct gateway_state out;
    struct err e = {0};
    uint32_t mtus[LINKS_MAX];
    for (size_t i = 0; i < LINKS_MAX; i++)
        mtus[i] = mtu;
    CU_ASSERT_EQUAL_FATAL(
        gateway_state_of_config(&c, revision,
                                &(struct gateway_facts){.own_mtus = mtus, .mtus = mtus}, &out, &e),
        0);
    gateway_config_done(&c);
    return out;
}

static size_t count(const struct config_plan *p, enum plan_step_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_steps; i++)
        n += p->steps[i].kind == kind;
    return n;
}

static struct config_plan plan_between(const struct sample *a, const struct sample *b)
{
    struct gateway_state from = state_of(a, 7, 1438), to = state_of(b, 8, 1438);
    struct config_plan p;
    CU_ASSERT_EQUAL_FATAL(config_plan_make(&from, &to, &p, NULL), 0);
    gateway_state_done(&from);
    gateway_state_done(&to);
    return p;
}

static void test_same(void)
{
    struct sample s = {.remote_prefixes = 5, .links = 3};
    struct config_plan p = plan_between(&s, &s);
    CU_ASSERT_EQUAL(p.n_steps, 0);
    config_plan_done(&p);
}

static void test_one_prefix_more(void)
{
    struct sample a = {.remote_prefixes = 5, .links = 3}, b = a;
    b.remote_prefixes = 6;
    struct config_plan p = plan_between(&a, &b);
    CU_ASSERT_EQUAL(p.n_steps, 3);
    CU_ASSERT_EQUAL(p.steps[0].kind, PLAN_BACKING_ADD);
    CU_ASSERT_EQUAL(p.steps[1].kind, PLAN_ROUTE_SET);
    CU_ASSERT_EQUAL(p.steps[2].kind, PLAN_FIB_COMMIT);
    config_plan_done(&p);
}

static void test_one_prefix_less(void)
{
    struct sample a = {.remote_prefixes = 6, .links = 3}, b = a;
    b.remote_prefixes = 5;
    struct config_plan p = plan_between(&a, &b);
    CU_ASSERT_EQUAL(p.n_steps, 3);
    CU_ASSERT_EQUAL(p.steps[0].kind, PLAN_FIB_COMMIT);
    CU_ASSERT_EQUAL(p.steps[1].kind, PLAN_ROUTE_REMOVE);
    CU_ASSERT_EQUAL(p.steps[2].kind, PLAN_BACKING_REMOVE);
    config_plan_done(&p);
}

static void test_liveness_alone(void)
{
    struct sample a = {.remote_prefixes = 5, .links = 3}, b = a;
    b.interval_ms = 500;
    struct config_plan p = plan_between(&a, &b);
    CU_ASSERT_EQUAL(p.n_steps, 3);
    CU_ASSERT_EQUAL(count(&p, PLAN_LINK_SET), 3);
    config_plan_done(&p);
}

static void test_one_link_more(void)
{
    struct sample a = {.remote_prefixes = 4, .links = 2}, b = {.remote_prefixes = 4, .links = 3};
    struct config_plan p = plan_between(&a, &b);
    CU_ASSERT_EQUAL(count(&p, PLAN_LINK_SET), 1);
    CU_ASSERT_EQUAL(count(&p, PLAN_LINK_REMOVE), 0);
    CU_ASSERT_EQUAL(count(&p, PLAN_RULE_ADD), 1);
    CU_ASSERT_EQUAL(count(&p, PLAN_UDP_ATTACH), 4);
    CU_ASSERT_EQUAL(count(&p, PLAN_FIB_COMMIT), 1);
    config_plan_done(&p);
    /* The table no longer names the link when it goes. */
    p = plan_between(&b, &a);
    size_t fib = 0, gone = 0;
    for (size_t i = 0; i < p.n_steps; i++) {
        fib = p.steps[i].kind == PLAN_FIB_COMMIT ? i : fib;
        gone = p.steps[i].kind == PLAN_LINK_REMOVE ? i : gone;
    }
    CU_ASSERT_EQUAL(count(&p, PLAN_LINK_REMOVE), 1);
    CU_ASSERT_EQUAL(count(&p, PLAN_LINK_SET), 0);
    CU_ASSERT(fib < gone);
    config_plan_done(&p);
}

/* From nothing: what keeps host data inside stands before anything can bring some. */
static void test_order_from_nothing(void)
{
    struct sample s = {.remote_prefixes = 3, .links = 2};
    struct gateway_state nothing = {0}, to = state_of(&s, 1, 1438);
    struct config_plan p;
    CU_ASSERT_EQUAL_FATAL(config_plan_make(&nothing, &to, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.steps[0].kind, PLAN_TUN_CREATE);
    CU_ASSERT_EQUAL(p.steps[1].kind, PLAN_TUN_SET);
    bool sorted = true;
    size_t last_backing = 0, first_route = SIZE_MAX, last_route = 0, first_rule = SIZE_MAX;
    for (size_t i = 0; i < p.n_steps; i++) {
        enum plan_step_kind k = p.steps[i].kind;
        int part = k < PLAN_FIRST_DATAPLANE ? 0 : k < PLAN_FIRST_AFTER ? 1 : 2;
        enum plan_step_kind b = i ? p.steps[i - 1].kind : k;
        int before = b < PLAN_FIRST_DATAPLANE ? 0 : b < PLAN_FIRST_AFTER ? 1 : 2;
        sorted = sorted && before <= part;
        last_backing = k == PLAN_BACKING_ADD ? i : last_backing;
        last_route = k == PLAN_ROUTE_SET ? i : last_route;
        first_route = k == PLAN_ROUTE_SET && i < first_route ? i : first_route;
        first_rule = k == PLAN_RULE_ADD && i < first_rule ? i : first_rule;
    }
    CU_ASSERT(sorted);
    CU_ASSERT(last_backing < first_route);
    CU_ASSERT(last_route < first_rule);
    CU_ASSERT_EQUAL(count(&p, PLAN_RULE_ADD), 2 + 2);
    CU_ASSERT_EQUAL(count(&p, PLAN_ROUTE_SET), 3 + 1);
    CU_ASSERT_EQUAL(count(&p, PLAN_ADDRESS_ADD), 2);
    CU_ASSERT_EQUAL(count(&p, PLAN_NODE_SET), 1);
    config_plan_done(&p);
    gateway_state_done(&to);
}

static void test_mtu(void)
{
    struct sample s = {.remote_prefixes = 3, .links = 2};
    struct gateway_state from = state_of(&s, 1, 1438), to = state_of(&s, 1, 8938);
    struct config_plan p;
    CU_ASSERT_EQUAL(to.tun_mtu, 8938);
    CU_ASSERT_EQUAL_FATAL(config_plan_make(&from, &to, &p, NULL), 0);
    CU_ASSERT_EQUAL(count(&p, PLAN_TUN_SET), 1);
    CU_ASSERT_EQUAL(count(&p, PLAN_TUN_CREATE), 0);
    CU_ASSERT_EQUAL(count(&p, PLAN_ROUTE_SET), 4);
    CU_ASSERT_EQUAL(count(&p, PLAN_LINK_SET), 2);
    CU_ASSERT_EQUAL(p.n_steps, 7);
    config_plan_done(&p);
    gateway_state_done(&from);
    gateway_state_done(&to);
    /* A small underlay: IPv6 keeps its 1280, IPv4 gets what there is, hawser0 is never below. */
    to = state_of(&s, 1, 1100);
    CU_ASSERT_EQUAL(to.tun_mtu, 1280);
    for (size_t i = 0; i < to.n_routes; i++)
        CU_ASSERT_EQUAL(to.routes[i].mtu, to.routes[i].prefix.addr.family == 6 ? 1280 : 1100);
    gateway_state_done(&to);
}

/* After a restart of the agent the table's bytes are unknown: its generation decides. */
static void test_generation(void)
{
    struct sample s = {.remote_prefixes = 3, .links = 2};
    struct gateway_state from = state_of(&s, 4, 1438), to = state_of(&s, 4, 1438);
    struct config_plan p;
    free(from.fib);
    from.fib = NULL;
    CU_ASSERT_EQUAL_FATAL(config_plan_make(&from, &to, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.n_steps, 0);
    config_plan_done(&p);
    from.fib_generation = 3;
    CU_ASSERT_EQUAL_FATAL(config_plan_make(&from, &to, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.n_steps, 1);
    CU_ASSERT_EQUAL(p.steps[0].kind, PLAN_FIB_COMMIT);
    config_plan_done(&p);
    gateway_state_done(&from);
    gateway_state_done(&to);
}

/* A route whose unreachable twin was deleted, and one whose own half is gone (hawser0 was). */
static void test_repair(void)
{
    struct sample s = {.remote_prefixes = 3, .links = 2};
    struct gateway_state from = state_of(&s, 4, 1438), to = state_of(&s, 4, 1438);
    struct config_plan p;
    from.routes[0].backing = false;
    from.routes[1].tun = false;
    CU_ASSERT_EQUAL_FATAL(config_plan_make(&from, &to, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.n_steps, 2);
    CU_ASSERT_EQUAL(p.steps[0].kind, PLAN_BACKING_ADD);
    CU_ASSERT_EQUAL(p.steps[0].index, 0);
    CU_ASSERT_EQUAL(p.steps[1].kind, PLAN_ROUTE_SET);
    CU_ASSERT_EQUAL(p.steps[1].index, 1);
    config_plan_done(&p);
    gateway_state_done(&from);
    gateway_state_done(&to);
}

/* What can no longer be reached keeps the unreachable route, and gets its own half back later. */
static void test_unreachable(void)
{
    struct sample s = {.remote_prefixes = 3, .links = 2};
    struct gateway_state up = state_of(&s, 4, 1438), cut = state_of(&s, 4, 1438);
    struct config_plan p;
    cut.routes[1].tun = false;
    CU_ASSERT_EQUAL_FATAL(config_plan_make(&up, &cut, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.n_steps, 1);
    CU_ASSERT_EQUAL(p.steps[0].kind, PLAN_ROUTE_REMOVE);
    CU_ASSERT_EQUAL(p.steps[0].index, 1);
    config_plan_done(&p);
    CU_ASSERT_EQUAL_FATAL(config_plan_make(&cut, &up, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.n_steps, 1);
    CU_ASSERT_EQUAL(p.steps[0].kind, PLAN_ROUTE_SET);
    config_plan_done(&p);
    CU_ASSERT_EQUAL_FATAL(config_plan_make(&cut, &cut, &p, NULL), 0);
    CU_ASSERT_EQUAL(p.n_steps, 0);
    config_plan_done(&p);
    gateway_state_done(&up);
    gateway_state_done(&cut);
}

/* The dataplane's own edge takes what we make. */
static void test_fib_is_valid(void)
{
    struct sample s = {.remote_prefixes = 200, .links = 16};
    struct gateway_state st = state_of(&s, 4, 1438);
    struct err e = {0};
    CU_ASSERT_EQUAL(dp_fib_validate(st.fib, st.fib_len, &e), 0);
    CU_ASSERT_STRING_EQUAL(e.text, "");
    gateway_state_done(&st);
}

static void test_port_base(void)
{
    struct sample a = {.remote_prefixes = 2, .links = 1}, b = a;
    b.port_base = 5000;
    struct config_plan p = plan_between(&a, &b);
    CU_ASSERT_EQUAL(count(&p, PLAN_UDP_ATTACH), 4);
    CU_ASSERT_EQUAL(p.n_steps, 4);
    config_plan_done(&p);
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite s = CU_add_suite("config_plan", NULL, NULL);
    CU_add_test(s, "the same config touches nothing", test_same);
    CU_add_test(s, "one prefix more: one route and the FIB", test_one_prefix_more);
    CU_add_test(s, "one prefix less", test_one_prefix_less);
    CU_add_test(s, "liveness alone: links only", test_liveness_alone);
    CU_add_test(s, "one link more, one less", test_one_link_more);
    CU_add_test(s, "order from nothing", test_order_from_nothing);
    CU_add_test(s, "MTU", test_mtu);
    CU_add_test(s, "generation of a table known by name", test_generation);
    CU_add_test(s, "repair", test_repair);
    CU_add_test(s, "unreachable", test_unreachable);
    CU_add_test(s, "the FIB passes the dataplane's edge", test_fib_is_valid);
    CU_add_test(s, "port base", test_port_base);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed != 0;
}
