/* What the controller's memory keeps of a gateway that is deleted. */
#include "controller/api/api.h"
#include "controller/api/resource.h"
#include "controller/store/gateway.h"
#include "controller/telemetry/counters.h"
#include "controller/telemetry/gateway_watch.h"
#include "tests/unit/controller/store_fixture.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>

static struct store_fixture f;

/* Each gateway has been cloned and has reported. */
static void begin(void)
{
    struct hw_id boots[] = {id_new(), id_new()};
    store_fixture_init(&f);
    f.app.watch = gateway_watch_new();
    f.app.counters = counters_table_new();
    CU_ASSERT_FATAL(f.app.watch && f.app.counters);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < 3; k++)
            gateway_watch_boot(f.app.watch, &f.gateways[i].id, &boots[k % 2], 0);
        CU_ASSERT_TRUE(gateway_watch_cloned(f.app.watch, &f.gateways[i].id, 1));
        counters_table_put(f.app.counters, &f.gateways[i].id, calloc(1, sizeof(struct counters)),
                           0);
    }
}

static void end(void)
{
    counters_table_free(f.app.counters);
    gateway_watch_free(f.app.watch);
    store_fixture_done(&f);
}

/* `within`: only tried, inside that transaction. */
static int delete_gateway(unsigned i, struct db *within)
{
    static const struct http_route route = {
        .method = HTTP_DELETE, .path = "/api/v1/gateways/{id}", .arg = &gateways};
    struct http_request req = {
        .method = HTTP_DELETE, .path = "/", .n_params = 1, .route = &route, .within = within};
    struct http_response res = {0};
    struct err e = {0};
    char id[ID_TEXT_MAX];
    (void)snprintf(req.params[0], sizeof req.params[0], "%s", id_text(&f.gateways[i].id, id));
    int rc = resource_delete(&f.app, &req, &res, &e);
    if (rc)
        printf("delete: %s\n", e.text);
    http_response_done(&res);
    return rc;
}

static bool kept(unsigned i)
{
    const struct hw_id *id = &f.gateways[i].id;
    struct counters *c = counters_table_take(f.app.counters, id);
    bool cloned = gateway_watch_cloned(f.app.watch, id, 1);
    CU_ASSERT_EQUAL(c != NULL, cloned);
    if (c)
        counters_table_put(f.app.counters, id, c, 0);
    return cloned;
}

static void test_forgotten(void)
{
    begin();
    CU_ASSERT_EQUAL(delete_gateway(0, NULL), 0);
    CU_ASSERT_FALSE(kept(0));
    CU_ASSERT_TRUE(kept(1));
    CU_ASSERT_TRUE(kept(2));
    CU_ASSERT_EQUAL(delete_gateway(0, NULL), HW_ENOTFOUND);
    end();
}

/* A plan of the deletion undoes it. */
static void test_only_tried(void)
{
    begin();
    struct db *db = store_fixture_begin(&f, STORE_CHANGE);
    CU_ASSERT_EQUAL(delete_gateway(0, db), 0);
    store_rollback(db);
    CU_ASSERT_TRUE(kept(0));
    end();
}

int main(void)
{
    CU_TestInfo tests[] = {{"a deleted one is forgotten", test_forgotten},
                           {"one whose deletion is tried is not", test_only_tried},
                           CU_TEST_INFO_NULL};
    return suite_run("gateways", tests);
}
