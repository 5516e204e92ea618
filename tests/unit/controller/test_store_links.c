#include "controller/store/connection.h"
#include "controller/store/domain.h"
#include "controller/store/link.h"
#include "tests/unit/controller/store_file.h"
#include <stdlib.h>
#include <string.h>

static void test_connection(void)
{
    struct fleet *f = calloc(1, sizeof *f);
    struct store_connection got, *list = NULL;
    size_t n = 0;
    fresh();
    make_fleet(f);
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_connection_get(db, &f->c.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(&got, &f->c, sizeof got), 0);
    CU_ASSERT_EQUAL(store_connection_between(db, &f->b.id, &f->a.id, &got, NULL), 0);
    CU_ASSERT_TRUE(id_equal(&got.id, &f->c.id));
    CU_ASSERT_EQUAL(store_connection_between(db, &f->a.id, &f->a.id, &got, NULL), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(
        store_connection_list(db, &(struct store_page){.limit = 5}, &f->b.id, &list, &n, NULL), 0);
    CU_ASSERT_EQUAL(n, 1);
    free(list);
    f->c.n_suites = 1;
    f->c.enabled = false;
    CU_ASSERT_EQUAL(store_connection_update(db, &f->c, NULL), 0);
    CU_ASSERT_EQUAL(store_connection_get(db, &f->c.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.n_suites, 1);
    CU_ASSERT_FALSE(got.enabled);
    /* Its links go with it. */
    struct store_link l;
    CU_ASSERT_EQUAL(store_connection_delete(db, &f->c.id, NULL), 0);
    CU_ASSERT_EQUAL(store_link_get(db, &f->l.id, &l, NULL), HW_ENOTFOUND);
    store_rollback(db);
    free(f);
}

static void test_link(void)
{
    struct fleet *f = calloc(1, sizeof *f);
    struct store_link got, *list = NULL;
    size_t n = 0;
    fresh();
    make_fleet(f);
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_link_get(db, &f->l.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(&got, &f->l, sizeof got), 0);
    CU_ASSERT_EQUAL(
        store_link_list(db, &(struct store_page){.limit = 5}, NULL, &f->gb.id, &list, &n, NULL), 0);
    CU_ASSERT_EQUAL(n, 1);
    free(list);
    CU_ASSERT_EQUAL(
        store_link_list(db, &(struct store_page){.limit = 5}, &f->a.id, NULL, &list, &n, NULL), 0);
    CU_ASSERT_EQUAL(n, 0);
    free(list);
    struct err e = {0};
    CU_ASSERT_EQUAL(store_link_list(db, &(struct store_page){.limit = 5, .after = "x"}, NULL, NULL,
                                    &list, &n, &e),
                    HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "cursor");
    struct store_link bypass = f->l;
    bypass.id = id_new();
    bypass.kind = LINK_BYPASS;
    memset(&bypass.connection_id, 0, sizeof bypass.connection_id);
    bypass.address_b = (struct ipaddr){0};
    CU_ASSERT_EQUAL(store_link_insert(db, &bypass, NULL), 0);
    CU_ASSERT_EQUAL(store_link_get(db, &bypass.id, &got, NULL), 0);
    CU_ASSERT_TRUE(id_is_zero(&got.connection_id));
    CU_ASSERT_EQUAL(got.address_b.family, 0);
    store_rollback(db);
    free(f);
}

static void test_domains(void)
{
    struct store_domain list[2] = {{"default", 1}, {"red", 5}}, *got = NULL;
    size_t n = 0;
    fresh();
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_domain_replace(db, list, 2, NULL), 0);
    CU_ASSERT_EQUAL(store_domain_replace(db, list + 1, 1, NULL), 0);
    CU_ASSERT_EQUAL(store_domain_all(db, &got, &n, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(n, 1);
    CU_ASSERT_STRING_EQUAL(got[0].name, "red");
    CU_ASSERT_EQUAL(got[0].number, 5);
    free(got);
    store_rollback(db);
}

static CU_TestInfo tests[] = {
    {"connection", test_connection},
    {"link", test_link},
    {"domains", test_domains},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return store_suite_run("store: connections and links", tests);
}
