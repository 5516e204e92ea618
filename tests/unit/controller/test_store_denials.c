#include "controller/store/denial.h"
#include "controller/store/gateway.h"
#include "controller/store/signed.h"
#include "controller/store/telemetry.h"
#include "tests/unit/controller/store_file.h"
#include <stdlib.h>
#include <string.h>

static void test_signed(void)
{
    struct fleet *f = calloc(1, sizeof *f);
    static char body[] = "{\"version\":1}";
    uint8_t sig[] = {0, 1, 2}, der[] = {0x30, 0};
    struct store_signed d = {.number = 7,
                             .body = body,
                             .body_len = sizeof body - 1,
                             .signature = sig,
                             .signature_len = 3,
                             .signer = der,
                             .signer_len = 2},
                        got = {0};
    uint64_t number = 99;
    fresh();
    make_fleet(f);
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_config_revision(db, &f->ga.id, &number, NULL), 0);
    CU_ASSERT_EQUAL(number, 0);
    CU_ASSERT_EQUAL(store_config_get(db, &f->ga.id, &got, NULL), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(store_config_put(db, &f->ga.id, &d, NULL), 0);
    d.number = 8;
    CU_ASSERT_EQUAL(store_config_put(db, &f->ga.id, &d, NULL), 0);
    CU_ASSERT_EQUAL(store_config_get(db, &f->ga.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.number, 8);
    CU_ASSERT_EQUAL(got.body_len, d.body_len);
    CU_ASSERT_EQUAL(memcmp(got.body, body, sizeof body), 0);
    CU_ASSERT_EQUAL(got.signature_len, 3);
    CU_ASSERT_EQUAL(memcmp(got.signature, sig, 3), 0);
    store_signed_done(&got);
    CU_ASSERT_EQUAL(store_config_delete(db, &f->ga.id, NULL), 0);
    CU_ASSERT_EQUAL(store_config_delete(db, &f->ga.id, NULL), 0);
    CU_ASSERT_EQUAL(store_denials_doc_number(db, &number, NULL), 0);
    CU_ASSERT_EQUAL(number, 0);
    CU_ASSERT_EQUAL(store_denials_doc_put(db, &d, NULL), 0);
    CU_ASSERT_EQUAL(store_denials_doc_number(db, &number, NULL), 0);
    CU_ASSERT_EQUAL(number, 8);
    store_rollback(db);
    free(f);
}

/* A revoked gateway's id and serials are denied; its peers stay unconfirmed until they report the
 * number. */
static void test_denial(void)
{
    struct fleet *f = calloc(1, sizeof *f);
    struct hw_id *ids = NULL;
    char(*serials)[64] = NULL;
    size_t n = 9, n_serials = 9;
    uint64_t number = 9;
    fresh();
    make_fleet(f);
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_denial_number(db, &number, NULL), 0);
    CU_ASSERT_EQUAL(number, 0);
    CU_ASSERT_EQUAL(store_certificate_add(db, &f->ga.id, "0b", INT32_MAX, NULL), 0);
    CU_ASSERT_EQUAL(store_certificate_add(db, &f->ga.id, "0a", INT32_MAX, NULL), 0);
    CU_ASSERT_EQUAL(store_certificate_add(db, &f->ga.id, "ended", 1, NULL), 0);
    unsigned given = 9;
    CU_ASSERT_EQUAL(store_certificate_count(db, &f->ga.id, store_now(db), &given, NULL), 0);
    CU_ASSERT_EQUAL(given, 3);
    CU_ASSERT_EQUAL(store_certificate_count(db, &f->ga.id, store_now(db) + 1, &given, NULL), 0);
    CU_ASSERT_EQUAL(given, 0);
    CU_ASSERT_EQUAL(store_certificate_add(db, &f->gb.id, "0c", 2, NULL), 0);
    CU_ASSERT_EQUAL(store_denial_add(db, &f->ga.id, NULL), 0);
    CU_ASSERT_EQUAL(store_denial_number(db, &number, NULL), 0);
    CU_ASSERT_EQUAL(number, 1);
    CU_ASSERT_EQUAL(store_denial_all(db, &ids, &n, &serials, &n_serials, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(n, 1);
    CU_ASSERT_TRUE(id_equal(&ids[0], &f->ga.id));
    CU_ASSERT_EQUAL_FATAL(n_serials, 2);
    CU_ASSERT_STRING_EQUAL(serials[0], "0a");
    CU_ASSERT_STRING_EQUAL(serials[1], "0b");
    free(ids);
    free(serials);
    CU_ASSERT_TRUE(store_denial_serial(db, "0a"));
    CU_ASSERT_FALSE(store_denial_serial(db, "0c"));

    CU_ASSERT_EQUAL(store_denial_unconfirmed(db, &f->ga.id, &ids, &n, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(n, 1);
    CU_ASSERT_TRUE(id_equal(&ids[0], &f->gb.id));
    free(ids);
    struct store_telemetry t = telemetry(&f->gb.id, 1);
    CU_ASSERT_EQUAL(store_telemetry_put(db, &t, NULL), 0);
    CU_ASSERT_EQUAL(store_denial_unconfirmed(db, &f->ga.id, &ids, &n, NULL), 0);
    CU_ASSERT_EQUAL(n, 0);
    free(ids);
    /* The denial outlives the gateway. */
    CU_ASSERT_EQUAL(store_gateway_delete(db, &f->ga.id, NULL), 0);
    CU_ASSERT_TRUE(store_denial_serial(db, "0b"));
    store_rollback(db);
    free(f);
}

/* Ended 210 days ago and its gateway gone: nothing is left to refuse. The newest number stays. */
static void test_prune(void)
{
    struct fleet *f = calloc(1, sizeof *f);
    struct hw_id *ids = NULL;
    char(*serials)[64] = NULL;
    size_t n = 9, n_serials = 9;
    uint64_t number = 9;
    unsigned removed = 9;
    fresh();
    make_fleet(f);
    struct db *db = begin(STORE_CHANGE);
    int64_t now = store_now(db), soon = now + 30, later = now + 60;
    CU_ASSERT_EQUAL(store_certificate_add(db, &f->ga.id, "soon", soon, NULL), 0);
    CU_ASSERT_EQUAL(store_certificate_add(db, &f->ga.id, "later", later, NULL), 0);
    CU_ASSERT_EQUAL(store_denial_add(db, &f->ga.id, NULL), 0);

    /* The newest number is never touched, however old. */
    CU_ASSERT_EQUAL(store_denial_prune(db, later + 2 * DENIAL_KEPT_S, &removed, NULL), 0);
    CU_ASSERT_EQUAL(removed, 0);
    CU_ASSERT_EQUAL(store_certificate_add(db, &f->ga.id, "soon", soon, NULL), 0);
    CU_ASSERT_EQUAL(store_certificate_add(db, &f->ga.id, "later", later, NULL), 0);
    CU_ASSERT_EQUAL(store_denial_add(db, &f->gb.id, NULL), 0);

    CU_ASSERT_EQUAL(store_denial_prune(db, soon + DENIAL_KEPT_S - 1, &removed, NULL), 0);
    CU_ASSERT_EQUAL(removed, 0);
    CU_ASSERT_EQUAL(store_denial_prune(db, soon + DENIAL_KEPT_S, &removed, NULL), 0);
    CU_ASSERT_EQUAL(removed, 1);
    CU_ASSERT_FALSE(store_denial_serial(db, "soon"));
    CU_ASSERT_TRUE(store_denial_serial(db, "later"));
    CU_ASSERT_EQUAL(store_denial_prune(db, later + DENIAL_KEPT_S, &removed, NULL), 0);
    CU_ASSERT_EQUAL(removed, 1); /* the gateway is still there */
    CU_ASSERT_EQUAL(store_gateway_delete(db, &f->ga.id, NULL), 0);
    CU_ASSERT_EQUAL(store_denial_prune(db, later + DENIAL_KEPT_S, &removed, NULL), 0);
    CU_ASSERT_EQUAL(removed, 1);

    CU_ASSERT_EQUAL(store_denial_all(db, &ids, &n, &serials, &n_serials, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(n, 1);
    CU_ASSERT_TRUE(id_equal(&ids[0], &f->gb.id));
    CU_ASSERT_EQUAL(n_serials, 0);
    CU_ASSERT_EQUAL(store_denial_number(db, &number, NULL), 0);
    CU_ASSERT_EQUAL(number, 2);
    free(ids);
    free(serials);
    store_rollback(db);
    free(f);
}

static CU_TestInfo tests[] = {
    {"signed documents", test_signed},
    {"denials", test_denial},
    {"denials that have ended", test_prune},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return store_suite_run("store: signed documents and denials", tests);
}
