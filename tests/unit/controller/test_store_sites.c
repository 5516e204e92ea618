#include "controller/store/site.h"
#include "tests/unit/controller/store_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- resources --- */

static void test_site(void)
{
    struct store_site s, got;
    struct err e = {0};
    fresh();
    s = site("a", "10.1.0.0/16");
    s.cidrs[s.n_cidrs++] = prefix("fd01::/64");
    s.role = SITE_TRANSIT;
    s.trusted_underlay = true;
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_site_insert(db, &s, NULL), 0);
    CU_ASSERT_EQUAL(store_site_get(db, &s.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(memcmp(&s, &got, sizeof s), 0);
    CU_ASSERT_EQUAL(got.common.revision, 1);
    CU_ASSERT_EQUAL(got.common.created_at, store_now(db));

    struct store_site twin = site("a", "10.9.0.0/16");
    CU_ASSERT_EQUAL(store_site_insert(db, &twin, &e), HW_ECONFLICT);
    CU_ASSERT_STRING_EQUAL(e.field, "name");
    s.n_cidrs = 1;
    CU_ASSERT_EQUAL(store_site_update(db, &s, NULL), 0);
    CU_ASSERT_EQUAL(store_site_get(db, &s.id, &got, NULL), 0);
    CU_ASSERT_EQUAL(got.n_cidrs, 1);
    CU_ASSERT_EQUAL(store_site_update(db, &twin, NULL), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(store_site_delete(db, &s.id, NULL), 0);
    CU_ASSERT_EQUAL(store_site_delete(db, &s.id, NULL), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(store_site_get(db, &s.id, &got, NULL), HW_ENOTFOUND);
    store_rollback(db);
}

static void check_overlap(struct db *db, const char *text, const char *with)
{
    struct prefix p = prefix(text), other;
    char name[HW_NAME_MAX + 1] = "";
    int rc = store_site_overlap(db, &p, NULL, &other, name, NULL);
    CU_ASSERT_EQUAL(rc, with ? 0 : HW_ENOTFOUND);
    if (!rc && with) {
        char got[PREFIX_TEXT_MAX];
        CU_ASSERT_STRING_EQUAL(prefix_text(&other, got), with);
        CU_ASSERT_STRING_EQUAL(name, "a");
    }
}

static void test_overlap(void)
{
    fresh();
    struct store_site s = site("a", "10.1.0.0/16");
    s.cidrs[s.n_cidrs++] = prefix("fd01:0:0:8000::/49");
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_site_insert(db, &s, NULL), 0);
    check_overlap(db, "10.1.0.0/16", "10.1.0.0/16");
    check_overlap(db, "10.1.255.255/32", "10.1.0.0/16");
    check_overlap(db, "10.1.0.0/32", "10.1.0.0/16");
    check_overlap(db, "10.0.0.0/15", "10.1.0.0/16");
    check_overlap(db, "0.0.0.0/0", "10.1.0.0/16");
    check_overlap(db, "10.2.0.0/16", NULL);
    check_overlap(db, "10.0.255.255/32", NULL);
    check_overlap(db, "fd01::/48", "fd01:0:0:8000::/49");
    check_overlap(db, "fd01:0:0:ffff:ffff:ffff:ffff:ffff/128", "fd01:0:0:8000::/49");
    check_overlap(db, "fd01::/49", NULL);
    check_overlap(db, "fd01:0:1::/48", NULL);
    struct prefix p = prefix("10.1.0.0/16"), other;
    char name[HW_NAME_MAX + 1];
    CU_ASSERT_EQUAL(store_site_overlap(db, &p, &s.id, &other, name, NULL), HW_ENOTFOUND);
    store_rollback(db);
}

static void test_dependents(void)
{
    struct fleet *f = calloc(1, sizeof *f);
    char text[64];
    fresh();
    make_fleet(f);
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_site_dependents(db, &f->a.id, text, sizeof text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(text, "connection a-b, gateway ga");
    CU_ASSERT_EQUAL(store_site_dependents(db, &f->a.id, text, 20, NULL), 0);
    CU_ASSERT_STRING_EQUAL(text, "connection a-b");
    CU_ASSERT_EQUAL(store_site_delete(db, &f->a.id, NULL), HW_ECONFLICT);
    store_rollback(db);
    free(f);
}

static void test_pages(void)
{
    fresh();
    struct db *db = begin(STORE_CHANGE);
    for (int i = 0; i < 9; i++) {
        char name[8], cidr[24];
        (void)snprintf(name, sizeof name, "s%d", (i * 4) % 9);
        (void)snprintf(cidr, sizeof cidr, "10.%d.0.0/16", i);
        struct store_site s = site(name, cidr);
        CU_ASSERT_EQUAL(store_site_insert(db, &s, NULL), 0);
    }
    struct store_site *list = NULL;
    size_t n = 0;
    struct store_page page = {.after = "s3", .limit = 3};
    CU_ASSERT_EQUAL(store_site_list(db, &page, &list, &n, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(n, 3);
    CU_ASSERT_STRING_EQUAL(list[0].name, "s4");
    CU_ASSERT_STRING_EQUAL(list[2].name, "s6");
    CU_ASSERT_EQUAL(list[2].n_cidrs, 1);
    free(list);
    CU_ASSERT_EQUAL(store_site_all(db, &list, &n, NULL), 0);
    CU_ASSERT_EQUAL(n, 9);
    free(list);
    store_rollback(db);
}

static CU_TestInfo tests[] = {
    {"site", test_site},   {"overlap", test_overlap}, {"dependents of a site", test_dependents},
    {"pages", test_pages}, CU_TEST_INFO_NULL,
};

int main(void)
{
    return store_suite_run("store: sites", tests);
}
