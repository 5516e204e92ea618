#include "common/esp_suite.h"
#include "controller/planner/plan_diff.h"
#include "tests/unit/controller/fleet_fixture.h"
#include "tests/unit/suite.h"
#include <math.h>
#include <string.h>

/* One gateway at the spoke, two at the transit, whose links are known already. */
static struct fixture *fleet(void)
{
    struct fixture *f = fixture_new();
    size_t s = fixture_site(f, "a", SITE_SPOKE, "10.1.0.0/16"),
           t = fixture_site(f, "t", SITE_TRANSIT, "10.9.0.0/16");
    fixture_gateway(f, s, "gw-a1", "10.1.0.1");
    fixture_gateway(f, t, "gw-t1", "10.9.0.1");
    fixture_gateway(f, t, "gw-t2", "10.9.0.2");
    fixture_connection(f, "a-t", s, t);
    for (size_t i = 0; i < 3; i++)
        f->gateways[i].endpoints[0].mtu = i ? 9001 : 1500;
    struct plan p = {0};
    CU_ASSERT_EQUAL_FATAL(planner_run(&f->t, &p, NULL), 0);
    fixture_keep(f, &p);
    plan_done(&p);
    return f;
}

static void stay(struct fixture *f)
{
    (void)f;
}

static void other_ports(struct fixture *f)
{
    f->gateways[1].port_base = 6000;
}

static void without_t2(struct fixture *f)
{
    f->gateways[2].state = TOPO_GATEWAY_REVOKED;
}

static void more_tunnels(struct fixture *f)
{
    f->connections[0].tunnels = 10;
}

static void disabled(struct fixture *f)
{
    f->connections[0].enabled = false;
}

static void other_order_of_suites(struct fixture *f)
{
    f->connections[0].suite_order[0] = ESP_SUITE_AES_128_GCM;
    f->connections[0].suite_order[1] = ESP_SUITE_AES_256_GCM;
    f->connections[0].n_suites = 2;
}

/* No engine has the suite, so no key changes. */
static void permitted(struct fixture *f)
{
    f->connections[0].permission =
        (struct config_permission){.id = {{1}}, .suite = ESP_SUITE_NONE, .until = 1800000000};
}

static void test_changes(void)
{
    static const struct {
        void (*change)(struct fixture *f);
        size_t changes;
        unsigned added, removed, rekeyed;
        double moved, spread;
    } cases[] = {
        {stay, 0, 0, 0, 0, 0, 0},           {other_ports, 2, 0, 0, 16, 0, 0},
        {without_t2, 2, 0, 16, 0, 0.5, .5}, {more_tunnels, 2, 4, 0, 16, 0, 0},
        {disabled, 2, 0, 16, 0, 0, 0},      {other_order_of_suites, 2, 0, 0, 16, 0, 0},
        {permitted, 0, 0, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *f = fleet(), *g = fleet();
        struct plan before = {0}, after = {0};
        struct plan_diff d = {0};
        cases[i].change(g);
        CU_ASSERT_EQUAL_FATAL(planner_run(&f->t, &before, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(planner_run(&g->t, &after, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(plan_diff(&(struct plan_side){&f->t, &before},
                                        &(struct plan_side){&g->t, &after}, &d, NULL),
                              0);
        CU_ASSERT_EQUAL(d.n_changes, cases[i].changes);
        CU_ASSERT_EQUAL(d.tunnels_added, cases[i].added);
        CU_ASSERT_EQUAL(d.tunnels_removed, cases[i].removed);
        CU_ASSERT_EQUAL(d.tunnels_rekeyed, cases[i].rekeyed);
        CU_ASSERT_TRUE(fabs(d.flows_moved - cases[i].moved) <= cases[i].spread);
        CU_ASSERT_EQUAL(d.flows_moved > 0, cases[i].moved > 0);
        plan_diff_done(&d);
        plan_done(&before);
        plan_done(&after);
        fixture_free(f);
        fixture_free(g);
    }
}

/* The smaller interface of both ends, less IPv4, UDP and ESP; nothing where one isn't known. */
static void test_mtu(void)
{
    struct fixture *f = fleet();
    struct plan none = {0}, p = {0};
    struct plan_diff d = {0};
    f->gateways[2].endpoints[0].mtu = 0;
    CU_ASSERT_EQUAL_FATAL(planner_run(&f->t, &p, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(
        plan_diff(&(struct plan_side){&f->t, &none}, &(struct plan_side){&f->t, &p}, &d, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(d.n_changes, 3);
    for (size_t i = 0; i < d.n_changes; i++) {
        const struct planned_link *l = d.changes[i].after;
        bool known = !id_equal(&l->gateway_a, &f->gateways[2].id) &&
                     !id_equal(&l->gateway_b, &f->gateways[2].id);
        CU_ASSERT_EQUAL(d.changes[i].mtu_after, known ? 1438 : 0);
        CU_ASSERT_EQUAL(d.changes[i].mtu_before, 0);
    }
    plan_diff_done(&d);
    plan_done(&p);
    fixture_free(f);
}

static CU_TestInfo tests[] = {
    {"changes", test_changes},
    {"MTU", test_mtu},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return suite_run("difference of plans", tests);
}
