#include "controller/store/gateway.h"
#include "controller/store/overlay_pools.h"
#include "controller/store/site.h"
#include "tests/unit/controller/store_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_gateway(void)
{
    struct fleet *f = calloc(1, sizeof *f);
    struct store_gateway got = {0};
    enum gateway_state state = GATEWAY_PENDING;
    fresh();
    make_fleet(f);
    struct db *db = begin(STORE_CHANGE);
    f->ga.endpoints[0] = (struct store_endpoint){.is_public = true};
    CU_ASSERT_EQUAL(ipaddr_parse("2001:db8::1", &f->ga.endpoints[0].address), 0);
    f->ga.endpoints[1] = (struct store_endpoint){.reachable = true};
    CU_ASSERT_EQUAL(ipaddr_parse("10.1.0.1", &f->ga.endpoints[1].address), 0);
    f->ga.n_endpoints = 2;
    f->ga.interfaces_json = strdup("[{\"name\":\"eth0\"}]");
    f->ga.workers = 3;
    CU_ASSERT_EQUAL(store_gateway_update(db, &f->ga, NULL), 0);
    CU_ASSERT_EQUAL(store_certificate_add(db, &f->ga.id, "0a0b", 12345, NULL), 0);
    CU_ASSERT_EQUAL(store_gateway_by_name(db, "ga", &got, NULL), 0);
    CU_ASSERT_EQUAL(got.n_endpoints, 2);
    CU_ASSERT_EQUAL(memcmp(got.endpoints, f->ga.endpoints, sizeof got.endpoints), 0);
    CU_ASSERT_STRING_EQUAL(got.interfaces_json, f->ga.interfaces_json);
    CU_ASSERT_STRING_EQUAL(got.cert_serial, "0a0b");
    CU_ASSERT_EQUAL(got.cert_not_after, 12345);
    CU_ASSERT_EQUAL(got.workers, 3);
    CU_ASSERT_TRUE(ipaddr_equal(&got.overlay4, &f->ga.overlay4));
    CU_ASSERT_EQUAL(store_gateway_state(db, &f->ga.id, &state, NULL), 0);
    CU_ASSERT_EQUAL(state, GATEWAY_ENROLLED);
    struct hw_id nobody = id_new();
    CU_ASSERT_EQUAL(store_gateway_state(db, &nobody, &state, NULL), HW_ENOTFOUND);
    store_rollback(db);
    store_gateway_done(&got);
    store_gateway_done(&f->ga);
    free(f);
}

static void check_address(const struct ipaddr *a, const char *text)
{
    char got[IPADDR_TEXT_MAX];
    CU_ASSERT_STRING_EQUAL(ipaddr_text(a, got), text);
}

/* A small pool: addresses go up, the end wraps to the lowest free one, then it is exhausted. */
static void test_overlay_alloc(void)
{
    const struct prefix pools[OVERLAY_POOLS] = {prefix("100.127.0.0/28"), prefix("fd77::/120")};
    struct err e = {0};
    struct hw_id first = {0}, third = {0};
    fresh();
    struct store_site s = site("a", "10.1.0.0/16");
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_overlay_pools_set(db, pools, NULL), 0);
    CU_ASSERT_EQUAL(store_site_insert(db, &s, NULL), 0);
    for (int i = 1; i <= 14; i++) {
        char name[16], text[24];
        (void)snprintf(name, sizeof name, "g%d", i);
        struct store_gateway g = gateway(name, &s.id);
        CU_ASSERT_EQUAL(store_gateway_insert(db, &g, NULL), 0);
        (void)snprintf(text, sizeof text, "100.127.0.%d", i);
        check_address(&g.overlay4, text);
        if (i == 1)
            first = g.id;
        if (i == 3)
            third = g.id;
    }
    struct store_gateway full = gateway("full", &s.id);
    CU_ASSERT_EQUAL(store_gateway_insert(db, &full, &e), HW_ECONFLICT);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "exhausted"));
    CU_ASSERT_EQUAL(store_gateway_delete(db, &third, NULL), 0);
    CU_ASSERT_EQUAL(store_gateway_delete(db, &first, NULL), 0);
    struct store_gateway again = gateway("again", &s.id);
    CU_ASSERT_EQUAL(store_gateway_insert(db, &again, NULL), 0);
    check_address(&again.overlay4, "100.127.0.1");
    check_address(&again.overlay6, "fd77::f");
    store_rollback(db);
}

static void test_pools_are_fixed(void)
{
    const struct prefix none[OVERLAY_POOLS] = {0};
    struct prefix got[OVERLAY_POOLS], wanted[OVERLAY_POOLS] = {0};
    struct err e = {0};
    fresh();
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_overlay_pools_set(db, none, NULL), 0);
    CU_ASSERT_EQUAL(store_overlay_pools(db, got, NULL), 0);
    char text[PREFIX_TEXT_MAX];
    CU_ASSERT_STRING_EQUAL(prefix_text(&got[0], text), "100.127.0.0/16");
    CU_ASSERT_EQUAL(got[1].len, 48);
    CU_ASSERT_EQUAL(got[1].addr.b[0], 0xfd);
    CU_ASSERT_EQUAL(store_overlay_pools_set(db, got, NULL), 0);
    CU_ASSERT_EQUAL(store_overlay_pools_set(db, none, NULL), 0);
    wanted[0] = prefix("100.64.0.0/16");
    CU_ASSERT_EQUAL(store_overlay_pools_set(db, wanted, &e), HW_ECONFLICT);
    store_rollback(db);
}

static CU_TestInfo tests[] = {
    {"gateway", test_gateway},
    {"overlay addresses", test_overlay_alloc},
    {"overlay pools", test_pools_are_fixed},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return store_suite_run("store: gateways", tests);
}
