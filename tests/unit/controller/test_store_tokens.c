#include "controller/store/idempotency.h"
#include "controller/store/site.h"
#include "controller/store/token.h"
#include "tests/unit/controller/store_file.h"
#include <stdlib.h>
#include <string.h>

static void test_token(void)
{
    fresh();
    struct store_site s = site("a", "10.1.0.0/16");
    struct store_token t = {.id = id_new(), .site_id = s.id, .max_uses = 2, .expires_at = 99}, got;
    uint8_t key[3][STORE_SHA256_LEN] = {{1}, {2}, {3}};
    struct hw_id g = id_new();
    struct store_token_use use = {0};
    memset(t.secret_sha256, 7, sizeof t.secret_sha256);
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_site_insert(db, &s, NULL), 0);
    CU_ASSERT_EQUAL(store_token_insert(db, &t, NULL), 0);
    CU_ASSERT_EQUAL(store_token_get(db, &t.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(&t, &got, sizeof t), 0);
    CU_ASSERT_EQUAL(store_token_use_get(db, &t.id, key[0], &use, NULL), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(store_token_use_add(db, &t.id, key[0], &g, "PEM", NULL), 0);
    CU_ASSERT_EQUAL(store_token_use_add(db, &t.id, key[1], &g, "PEM", NULL), 0);
    CU_ASSERT_EQUAL(store_token_use_add(db, &t.id, key[2], &g, "PEM", NULL), HW_ECONFLICT);
    CU_ASSERT_EQUAL(store_token_use_get(db, &t.id, key[0], &use, NULL), 0);
    CU_ASSERT_TRUE(id_equal(&use.gateway_id, &g));
    CU_ASSERT_STRING_EQUAL(use.certificate_pem, "PEM");
    store_token_use_done(&use);
    CU_ASSERT_EQUAL(store_token_get(db, &t.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.uses, 2);
    CU_ASSERT_EQUAL(store_token_delete(db, &t.id, NULL), 0);
    CU_ASSERT_EQUAL(store_token_use_get(db, &t.id, key[0], &use, NULL), HW_ENOTFOUND);
    store_rollback(db);
}

/* The same request again; another one under its key; another token's; a day later. */
static void test_answers(void)
{
    char body[] = "{}";
    struct store_request r = {.api_key_id = id_new(), .key = "k", .sha256 = {1}}, other = r;
    struct store_answer a = {.status = 201, .location = "/x", .revision = 7, .body = body}, got;
    unsigned removed = 9;
    fresh();
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_answer_find(db, &r, &got, NULL), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(store_answer_keep(db, &r, &a, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_answer_find(db, &r, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.status, 201);
    CU_ASSERT_STRING_EQUAL(got.location, "/x");
    CU_ASSERT_EQUAL(got.revision, 7);
    CU_ASSERT_STRING_EQUAL(got.body, "{}");
    store_answer_done(&got);
    other.sha256[31] = 1;
    CU_ASSERT_EQUAL(store_answer_find(db, &other, &got, NULL), HW_EINVAL);
    other = r;
    other.api_key_id = id_new();
    CU_ASSERT_EQUAL(store_answer_find(db, &other, &got, NULL), HW_ENOTFOUND);
    int64_t end = store_now(db) + IDEMPOTENCY_KEPT_S;
    CU_ASSERT_EQUAL(store_answer_expire(db, end - 1, &removed, NULL), 0);
    CU_ASSERT_EQUAL(removed, 0);
    CU_ASSERT_EQUAL(store_answer_expire(db, end, &removed, NULL), 0);
    CU_ASSERT_EQUAL(removed, 1);
    CU_ASSERT_EQUAL(store_answer_find(db, &r, &got, NULL), HW_ENOTFOUND);
    store_rollback(db);
}

static CU_TestInfo tests[] = {
    {"enrolment token", test_token},
    {"answers kept for an idempotency key", test_answers},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return store_suite_run("store: tokens and answers", tests);
}
