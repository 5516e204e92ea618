#include "controller/store/link.h"
#include "controller/store/telemetry.h"
#include "tests/unit/controller/store_file.h"
#include <stdlib.h>

static void test_telemetry(void)
{
    struct fleet *f = calloc(1, sizeof *f);
    struct store_telemetry got = {0};
    struct store_link_status status[2];
    size_t n = 0;
    fresh();
    make_fleet(f);
    struct db *db = begin(STORE_TELEMETRY);
    struct store_telemetry t = telemetry(&f->ga.id, 0);
    CU_ASSERT_EQUAL(store_telemetry_last(db, &f->ga.id, &got, NULL), HW_ENOTFOUND);
    for (int i = 0; i < 5; i++, t.observed_at++)
        CU_ASSERT_EQUAL(store_telemetry_put(db, &t, NULL), 0);
    CU_ASSERT_EQUAL(store_telemetry_last(db, &f->ga.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.observed_at, 1004);
    CU_ASSERT_EQUAL(got.goodput_tx_bps, 1.5e9);
    char *json = NULL;
    CU_ASSERT_EQUAL_FATAL(store_telemetry_report(db, &f->ga.id, &json, NULL), 0);
    CU_ASSERT_STRING_EQUAL(json, "{\"x\":1}");
    free(json);
    store_telemetry_done(&got);
    t.gateway_id = id_new();
    CU_ASSERT_EQUAL(store_telemetry_put(db, &t, NULL), HW_ENOTFOUND);

    struct store_link_status s = {.link_id = f->l.id,
                                  .gateway_id = f->ga.id,
                                  .observed_at = 5,
                                  .state = "up",
                                  .tunnels_up = 8,
                                  .tunnels_total = 8};
    CU_ASSERT_EQUAL(store_link_status_put(db, &s, NULL), 0);
    s.tunnels_up = 7;
    CU_ASSERT_EQUAL(store_link_status_put(db, &s, NULL), 0);
    s.link_id = id_new();
    CU_ASSERT_EQUAL(store_link_status_put(db, &s, NULL), 0);
    CU_ASSERT_EQUAL(store_link_status_get(db, &f->l.id, status, &n, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(n, 1);
    CU_ASSERT_EQUAL(status[0].tunnels_up, 7);
    store_rollback(db);
    free(f);
}

static CU_TestInfo tests[] = {
    {"telemetry", test_telemetry},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return store_suite_run("store: telemetry", tests);
}
