#include "controller/store/api_key.h"
#include "controller/store/web_session.h"
#include "tests/unit/controller/store_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct store_api_key key(const char *name, enum api_key_role role, int64_t expires_at)
{
    static uint8_t next;
    struct store_api_key k = {.id = id_new(),
                              .sha256 = {++next},
                              .prefix = "hwa1.x",
                              .role = role,
                              .created_by = "alice",
                              .last_used_at = 7,
                              .expires_at = expires_at};
    (void)snprintf(k.name, sizeof k.name, "%s", name);
    return k;
}

static void test_life(void)
{
    struct store_api_key k = key("b", API_KEY_OPERATOR, 99), other = key("a", API_KEY_ADMIN, 0),
                         got, *list = NULL;
    struct store_page page = {.limit = 10};
    unsigned count = 9;
    size_t n = 9;
    fresh();
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_api_key_count(db, &count, NULL), 0);
    CU_ASSERT_EQUAL(count, 0);
    CU_ASSERT_EQUAL_FATAL(store_api_key_insert(db, &k, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_api_key_insert(db, &other, NULL), 0);
    CU_ASSERT_EQUAL(store_api_key_get(db, &k.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(&got, &k, sizeof k), 0);
    CU_ASSERT_EQUAL(store_api_key_by_secret(db, other.sha256, &got, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(&got, &other, sizeof other), 0);
    CU_ASSERT_EQUAL(store_api_key_list(db, &page, &list, &n, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(n, 2);
    CU_ASSERT_STRING_EQUAL(list[0].name, "a");
    free(list);
    CU_ASSERT_EQUAL(store_api_key_used(db, &k.id, 11, NULL), 0);
    CU_ASSERT_EQUAL(store_api_key_get(db, &k.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.last_used_at, 11);
    CU_ASSERT_EQUAL(store_api_key_delete(db, &k.id, NULL), 0);
    CU_ASSERT_EQUAL(store_api_key_delete(db, &k.id, NULL), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(store_api_key_delete_by_name(db, "a", NULL), 0);
    CU_ASSERT_EQUAL(store_api_key_count(db, &count, NULL), 0);
    CU_ASSERT_EQUAL(count, 0);
    store_rollback(db);
}

static void test_end(void)
{
    static const struct {
        int64_t expires_at, now;
        enum api_key_state state;
    } rows[] = {
        {0, INT64_MAX, API_KEY_VALID},
        {2000000, 2000000 - API_KEY_EXPIRING_S - 1, API_KEY_VALID},
        {2000000, 2000000 - API_KEY_EXPIRING_S, API_KEY_EXPIRING},
        {2000000, 1999999, API_KEY_EXPIRING},
        {2000000, 2000000, API_KEY_EXPIRED},
        {2000000, INT64_MAX, API_KEY_EXPIRED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct store_api_key k = {.expires_at = rows[i].expires_at};
        CU_ASSERT_EQUAL(store_api_key_state(&k, rows[i].now), rows[i].state);
    }
}

/* One that has ended is there to be shown, and no credential. */
static void test_live(void)
{
    struct store_api_key got;
    fresh();
    struct db *db = begin(STORE_CHANGE);
    struct store_api_key over = key("over", API_KEY_ADMIN, store_now(db)),
                         last = key("last", API_KEY_ADMIN, store_now(db) + 1);
    CU_ASSERT_EQUAL_FATAL(store_api_key_insert(db, &over, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_api_key_insert(db, &last, NULL), 0);
    CU_ASSERT_EQUAL(store_api_key_get(db, &over.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(store_api_key_live(db, &over.id, &got, NULL), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(store_api_key_live(db, &last.id, &got, NULL), 0);
    store_rollback(db);
}

static void test_other_admin(void)
{
    bool other = true;
    fresh();
    struct db *db = begin(STORE_CHANGE);
    struct store_api_key one = key("one", API_KEY_ADMIN, 0),
                         operator= key("operator", API_KEY_OPERATOR, 0),
                         over = key("over", API_KEY_ADMIN, store_now(db)),
                         two = key("two", API_KEY_ADMIN, store_now(db) + 9);
    CU_ASSERT_EQUAL_FATAL(store_api_key_insert(db, &one, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_api_key_insert(db, &operator, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_api_key_insert(db, &over, NULL), 0);
    CU_ASSERT_EQUAL(store_api_key_other_admin(db, &one.id, &other, NULL), 0);
    CU_ASSERT_FALSE(other);
    CU_ASSERT_EQUAL_FATAL(store_api_key_insert(db, &two, NULL), 0);
    CU_ASSERT_EQUAL(store_api_key_other_admin(db, &one.id, &other, NULL), 0);
    CU_ASSERT_TRUE(other);
    store_rollback(db);
}

static void test_sessions_go_with_the_key(void)
{
    struct store_api_key k = key("k", API_KEY_VIEWER, 0);
    struct store_web_session s = {.id = id_new(), .api_key_id = k.id, .secret_sha256 = {5}}, got;
    fresh();
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL_FATAL(store_api_key_insert(db, &k, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_web_session_insert(db, &s, NULL), 0);
    CU_ASSERT_EQUAL(store_web_session_by_secret(db, s.secret_sha256, &got, NULL), 0);
    CU_ASSERT_EQUAL(store_api_key_delete(db, &k.id, NULL), 0);
    CU_ASSERT_EQUAL(store_web_session_by_secret(db, s.secret_sha256, &got, NULL), HW_ENOTFOUND);
    store_rollback(db);
}

static void test_a_name_once(void)
{
    struct store_api_key k = key("k", API_KEY_VIEWER, 0), same = key("k", API_KEY_ADMIN, 0);
    struct err e = {0};
    fresh();
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL_FATAL(store_api_key_insert(db, &k, NULL), 0);
    CU_ASSERT_EQUAL(store_api_key_insert(db, &same, &e), HW_ECONFLICT);
    CU_ASSERT_STRING_EQUAL(e.field, "name");
    store_rollback(db);
}

static CU_TestInfo tests[] = {
    {"life of a key", test_life},
    {"its end", test_end},
    {"one that has ended is no credential", test_live},
    {"another admin", test_other_admin},
    {"sessions go with their key", test_sessions_go_with_the_key},
    {"a name stands once", test_a_name_once},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return store_suite_run("store: API keys", tests);
}
