/* Whom operations wake. */
#include "controller/operations/operations.h"
#include "controller/push/hub.h"
#include "tests/unit/controller/store_fixture.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>

static struct store_fixture f;

static void begin_one(struct db *db, const struct hw_id *gateway, struct operations_wake *wake)
{
    struct command c = command_defaults(COMMAND_PING);
    struct store_operation o = {.id = id_new(), .gateway_id = *gateway};
    CU_ASSERT_EQUAL(ipaddr_parse("10.9.0.1", &c.target), 0);
    (void)strcpy(o.kind, command_kind_name(COMMAND_PING));
    o.request = strdup("{}");
    CU_ASSERT_EQUAL(operations_begin(db, &o, &c, wake, NULL), 0);
    store_operation_done(&o);
}

static void park(unsigned gateway, uint64_t ticket)
{
    CU_ASSERT_EQUAL(
        hub_park(f.app.hub, &f.gateways[gateway].id, hub_token(f.app.hub), ticket, NULL), 0);
}

static void test_named_ones(void)
{
    struct operations_wake wake = {.n = 0};
    store_fixture_init(&f);
    struct db *db = store_fixture_begin(&f, STORE_TELEMETRY);
    begin_one(db, &f.gateways[1].id, &wake);
    store_fixture_commit(db);
    for (unsigned i = 0; i < 3; i++)
        park(i, 10 + i);
    operations_tell(&wake, f.app.hub);
    CU_ASSERT_EQUAL(f.n_woken, 1);
    CU_ASSERT_EQUAL(f.woken[0], 11);
    store_fixture_done(&f);
}

/* More than can be named: nobody is left out, and least of all the last. */
static void test_more_than_can_be_named(void)
{
    struct operations_wake wake = {.n = 0};
    const size_t room = sizeof wake.gateways / sizeof *wake.gateways;
    store_fixture_init(&f);
    struct db *db = store_fixture_begin(&f, STORE_TELEMETRY);
    for (size_t i = 0; i < room; i++)
        begin_one(db, &f.gateways[i % 2].id, &wake);
    CU_ASSERT_FALSE(wake.all);
    begin_one(db, &f.gateways[2].id, &wake);
    CU_ASSERT_TRUE(wake.all);
    CU_ASSERT_EQUAL(wake.n, room);
    store_fixture_commit(db);
    for (unsigned i = 0; i < 3; i++)
        park(i, 10 + i);
    operations_tell(&wake, f.app.hub);
    CU_ASSERT_EQUAL(f.n_woken, 3);
    store_fixture_done(&f);
}

int main(void)
{
    CU_TestInfo tests[] = {{"the named ones are woken", test_named_ones},
                           {"more than can be named", test_more_than_can_be_named},
                           CU_TEST_INFO_NULL};
    return suite_run("operations", tests);
}
