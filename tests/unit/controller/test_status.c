#include "common/clock.h"
#include "controller/push/publish.h"
#include "controller/store/telemetry.h"
#include "controller/telemetry/gateway_watch.h"
#include "controller/telemetry/status.h"
#include "tests/unit/controller/store_fixture.h"
#include "tests/unit/suite.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char quiet[] = "{\"system\":{\"ip_forward\":true,\"problems\":[]}}";
static char no_refusals[] = "[]";

static struct store_telemetry telemetry(const struct store_gateway *g, int64_t at)
{
    return (struct store_telemetry){.gateway_id = g->id,
                                    .observed_at = at,
                                    .refused_json = no_refusals,
                                    .interval_seconds = 10,
                                    .links_up = 2,
                                    .dataplane_connected = true,
                                    .report_json = quiet};
}

static struct gateway_watch *watch;

static struct status gateway_status(struct store_fixture *f, const struct store_telemetry *t,
                                    int64_t now)
{
    struct status s;
    if (t) {
        struct db *db = store_fixture_begin(f, STORE_TELEMETRY);
        CU_ASSERT_EQUAL_FATAL(store_telemetry_put(db, t, NULL), 0);
        store_fixture_commit(db);
    }
    struct db *db;
    CU_ASSERT_EQUAL_FATAL(store_read(f->app.store, &db, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(status_of_gateway(db, watch, &f->gateways[0], now, &s, NULL), 0);
    store_read_end(db);
    return s;
}

static void test_gateway(void)
{
    struct store_fixture f;
    store_fixture_init(&f);
    watch = gateway_watch_new();
    const int64_t now = 1000000;
    struct status s = gateway_status(&f, NULL, now);
    CU_ASSERT_EQUAL(s.state, STATUS_UNKNOWN);
    CU_ASSERT_EQUAL(s.observed_at, 0); /* nobody has seen it */
    struct store_telemetry t = telemetry(&f.gateways[0], now - 5);
    s = gateway_status(&f, &t, now);
    CU_ASSERT_EQUAL(s.state, STATUS_UP);
    CU_ASSERT_STRING_EQUAL(s.observer, "gw-a1");
    CU_ASSERT_EQUAL(s.observed_at, now - 5);
    s = gateway_status(&f, NULL, now + 20);
    CU_ASSERT_EQUAL(s.state, STATUS_UP);
    s = gateway_status(&f, NULL,
                       now + 26); /* three intervals and a second: not green from memory */
    CU_ASSERT_EQUAL(s.state, STATUS_UNKNOWN);
    CU_ASSERT_STRING_EQUAL(s.observer, "controller");
    CU_ASSERT_EQUAL(s.observed_at, now - 5);
    /* The clock was set back since: a report from the future is no fresh one. */
    s = gateway_status(&f, NULL, now - 5 - 31);
    CU_ASSERT_EQUAL(s.state, STATUS_UNKNOWN);
    CU_ASSERT_EQUAL(gateway_status(&f, NULL, now - 10).state, STATUS_UP);
    t.interval_seconds = 60;
    CU_ASSERT_EQUAL(gateway_status(&f, &t, now + 170).state, STATUS_UP);
    t.interval_seconds = 1;
    CU_ASSERT_EQUAL(gateway_status(&f, &t, now + 20).state, STATUS_UP);
    t.links_down = 1;
    CU_ASSERT_EQUAL(gateway_status(&f, &t, now).state, STATUS_DEGRADED);
    t.links_up = 0;
    CU_ASSERT_EQUAL(gateway_status(&f, &t, now).state, STATUS_DOWN);
    t = telemetry(&f.gateways[0], now);
    t.dataplane_connected = false;
    CU_ASSERT_EQUAL(gateway_status(&f, &t, now).state, STATUS_DOWN);
    t = telemetry(&f.gateways[0], now);
    static char refused[] = "[{\"revision\":7,\"reason\":\"no answer\"}]";
    t.refused_json = refused;
    CU_ASSERT_EQUAL(gateway_status(&f, &t, now).state, STATUS_DEGRADED);
    t.refused_json = no_refusals;
    static const char troubled[] = "ip_forward was switched off";
    memcpy(t.problem, troubled, sizeof troubled);
    s = gateway_status(&f, &t, now);
    CU_ASSERT_EQUAL(s.state, STATUS_DEGRADED);
    CU_ASSERT_STRING_EQUAL(s.reason, "ip_forward was switched off");
    t.problem[0] = '\0';
    struct hw_id one = id_new(), two = id_new();
    gateway_watch_boot(watch, &f.gateways[0].id, &one, clock_mono_ns());
    gateway_watch_boot(watch, &f.gateways[0].id, &two, clock_mono_ns());
    CU_ASSERT_EQUAL(gateway_status(&f, &t, now).state, STATUS_UP);
    gateway_watch_boot(watch, &f.gateways[0].id, &one, clock_mono_ns());
    s = gateway_status(&f, &t, now);
    CU_ASSERT_EQUAL(s.state, STATUS_DEGRADED);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.reason, "cloned"));
    gateway_watch_forget(watch, &f.gateways[0].id);
    while (gateway_watch_plan(watch, &f.gateways[0].id, clock_mono_ns()))
        CU_ASSERT_EQUAL(gateway_status(&f, &t, now).state, STATUS_UP);
    s = gateway_status(&f, &t, now);
    CU_ASSERT_EQUAL(s.state, STATUS_DEGRADED);
    CU_ASSERT_PTR_NOT_NULL(strstr(s.reason, "restless"));
    f.gateways[0].state = GATEWAY_REVOKED;
    CU_ASSERT_EQUAL(gateway_status(&f, NULL, now).state, STATUS_DOWN);
    f.gateways[0].state = GATEWAY_PENDING;
    CU_ASSERT_EQUAL(gateway_status(&f, NULL, now).state, STATUS_UNKNOWN);
    gateway_watch_free(watch);
    store_fixture_done(&f);
}

/* ---- links ---- */

struct end {
    const char *state; /* NULL: has not reported */
    int64_t at;
    unsigned up, total;
};

struct link_case {
    struct end a, b;
    enum status_state state;
    const char *observer;
    int64_t observed_at;
    unsigned up;
};

static void put_end(struct db *db, const struct store_link *l, const struct store_gateway *g,
                    const struct end *end)
{
    struct store_telemetry t = telemetry(g, end->at);
    CU_ASSERT_EQUAL_FATAL(store_telemetry_put(db, &t, NULL), 0);
    struct store_link_status s = {.link_id = l->id,
                                  .gateway_id = g->id,
                                  .observed_at = end->at,
                                  .tunnels_up = end->up,
                                  .tunnels_total = end->total};
    (void)snprintf(s.state, sizeof s.state, "%s", end->state);
    (void)snprintf(s.reason, sizeof s.reason, "%s says so", g->name);
    CU_ASSERT_EQUAL_FATAL(store_link_status_put(db, &s, NULL), 0);
}

static void run_link_case(const struct link_case *c)
{
    struct store_fixture f;
    struct publish_result r = {0};
    struct store_link *rows = NULL;
    struct status s;
    size_t n = 0;
    store_fixture_init(&f);
    struct db *db = store_fixture_begin(&f, STORE_CHANGE);
    CU_ASSERT_EQUAL_FATAL(publish_changes(&f.app, db, PUBLISH_OPERATOR, &r, NULL), 0);
    publish_result_done(&r);
    CU_ASSERT_EQUAL_FATAL(store_link_list(db, &(struct store_page){.limit = 10},
                                          &f.connections[0].id, NULL, &rows, &n, NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(n, 1);
    if (c->a.state)
        put_end(db, rows, &f.gateways[0], &c->a);
    if (c->b.state)
        put_end(db, rows, &f.gateways[1], &c->b);
    CU_ASSERT_EQUAL(status_of_link(db, rows, 1000, &s, NULL), 0);
    CU_ASSERT_EQUAL(s.state, c->state);
    CU_ASSERT_STRING_EQUAL(s.observer, c->observer);
    CU_ASSERT_EQUAL(s.observed_at, c->observed_at);
    CU_ASSERT_EQUAL(s.tunnels_up, c->up);
    CU_ASSERT_TRUE(s.reason[0]);
    /* Nothing is measured where nobody speaks: not known, which is not 0. */
    if (s.state == STATUS_UNKNOWN)
        CU_ASSERT_TRUE(isnan(s.ab_bps) && isnan(s.ba_bps) && isnan(s.rtt_us) &&
                       isnan(s.loss_ratio));
    /* What an operator switched off is disabled, whatever the ends said last. */
    f.connections[0].enabled = false;
    CU_ASSERT_EQUAL(store_connection_update(db, &f.connections[0], NULL), 0);
    CU_ASSERT_EQUAL(status_of_link(db, rows, 1000, &s, NULL), 0);
    CU_ASSERT_EQUAL(s.state, STATUS_DISABLED);
    store_fixture_commit(db);
    free(rows);
    store_fixture_done(&f);
}

static void test_links(void)
{
    static const struct link_case cases[] = {
        {{NULL, 0, 0, 0}, {NULL, 0, 0, 0}, STATUS_UNKNOWN, "", 0, 0},
        {{"up", 990, 8, 8}, {"up", 995, 8, 8}, STATUS_UP, "gw-a1, gw-t1", 990, 8},
        {{"up", 990, 8, 8}, {"down", 995, 0, 8}, STATUS_DOWN, "gw-a1, gw-t1", 990, 0},
        {{"up", 990, 8, 8}, {"degraded", 995, 5, 8}, STATUS_DEGRADED, "gw-a1, gw-t1", 990, 5},
        {{"no_keys", 990, 0, 8}, {"up", 995, 8, 8}, STATUS_DOWN, "gw-a1, gw-t1", 990, 0},
        {{"up", 990, 8, 8}, {NULL, 0, 0, 0}, STATUS_UP, "gw-a1", 990, 8},
        {{"up", 990, 8, 8}, {"down", 900, 0, 8}, STATUS_UP, "gw-a1", 990, 8},
        {{"up", 900, 8, 8}, {"up", 901, 8, 8}, STATUS_UNKNOWN, "controller", 901, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        run_link_case(&cases[i]);
}

static void test_refused_and_pending(void)
{
    struct store_fixture f;
    struct status s;
    store_fixture_init(&f);
    struct db *db = store_fixture_begin(&f, STORE_CHANGE);
    struct store_link l = {
        .id = id_new(), .connection_id = f.connections[0].id, .enabled = true, .tunnels = 8};
    CU_ASSERT_EQUAL(status_of_link(db, &l, 1000, &s, NULL), 0);
    CU_ASSERT_EQUAL(s.state, STATUS_UNKNOWN);
    CU_ASSERT_EQUAL(s.tunnels_total, 8);
    (void)snprintf(l.refusal, sizeof l.refusal, "no way");
    CU_ASSERT_EQUAL(status_of_link(db, &l, 1000, &s, NULL), 0);
    CU_ASSERT_EQUAL(s.state, STATUS_DOWN);
    CU_ASSERT_STRING_EQUAL(s.reason, "no way");
    l.enabled = false;
    CU_ASSERT_EQUAL(status_of_link(db, &l, 1000, &s, NULL), 0);
    CU_ASSERT_EQUAL(s.state, STATUS_DISABLED);
    store_rollback(db);
    store_fixture_done(&f);
}

int main(void)
{
    CU_TestInfo tests[] = {{"gateways", test_gateway},
                           {"links", test_links},
                           {"refused and pending links", test_refused_and_pending},
                           CU_TEST_INFO_NULL};
    return suite_run("status", tests);
}
