#include "common/esp_suite.h"
#include "controller/store/api_token.h"
#include "controller/store/connection.h"
#include "controller/store/denial.h"
#include "controller/store/domain.h"
#include "controller/store/gateway.h"
#include "controller/store/link.h"
#include "controller/store/migrate.h"
#include "controller/store/overlay_pools.h"
#include "controller/store/signed.h"
#include "controller/store/site.h"
#include "controller/store/stmt.h"
#include "controller/store/telemetry.h"
#include "controller/store/token.h"
#include "tests/unit/suite.h"
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/hawser-store-XXXXXX";
static char path[64];
static struct store *store;

static void fresh(void)
{
    static const char *const suffix[] = {"", "-wal", "-shm"};
    store_close(store);
    store = NULL;
    for (int i = 0; i < 3; i++) {
        char name[80];
        (void)snprintf(name, sizeof name, "%s%s", path, suffix[i]);
        (void)unlink(name);
    }
    CU_ASSERT_EQUAL_FATAL(store_open(path, true, &store, NULL), 0);
}

static struct db *begin(enum store_write_kind kind)
{
    struct db *db = NULL;
    CU_ASSERT_EQUAL_FATAL(store_begin(store, kind, &db, NULL), 0);
    return db;
}

static struct prefix prefix(const char *text)
{
    struct prefix p = {0};
    CU_ASSERT_EQUAL_FATAL(prefix_parse(text, &p, NULL), 0);
    return p;
}

static struct store_site site(const char *name, const char *cidr)
{
    struct store_site s = {
        .id = id_new(), .provider = "aws", .domain = "default", .takeover = "none"};
    (void)snprintf(s.name, sizeof s.name, "%s", name);
    s.cidrs[s.n_cidrs++] = prefix(cidr);
    return s;
}

static struct store_gateway gateway(const char *name, const struct hw_id *site_id)
{
    struct store_gateway g = {
        .id = id_new(), .site_id = *site_id, .port_base = 4510, .weight = 100};
    (void)snprintf(g.name, sizeof g.name, "%s", name);
    return g;
}

/* Two sites with a gateway each, a connection and its link; pools as by default. */
struct fleet {
    struct store_site a, b;
    struct store_gateway ga, gb;
    struct store_connection c;
    struct store_link l;
};

static void make_fleet(struct fleet *f)
{
    const struct prefix pools[OVERLAY_POOLS] = {0};
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL_FATAL(store_overlay_pools_set(db, pools, NULL), 0);
    f->a = site("a", "10.1.0.0/16");
    f->b = site("b", "10.2.0.0/16");
    f->b.role = SITE_TRANSIT;
    CU_ASSERT_EQUAL_FATAL(store_site_insert(db, &f->a, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_site_insert(db, &f->b, NULL), 0);
    f->ga = gateway("ga", &f->a.id);
    f->gb = gateway("gb", &f->b.id);
    f->ga.state = f->gb.state = GATEWAY_ENROLLED;
    CU_ASSERT_EQUAL_FATAL(store_gateway_insert(db, &f->ga, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_gateway_insert(db, &f->gb, NULL), 0);
    f->c = (struct store_connection){.id = id_new(),
                                     .name = "a-b",
                                     .site_a_id = f->a.id,
                                     .site_b_id = f->b.id,
                                     .kind = LINK_ATTACHMENT,
                                     .suites = {ESP_SUITE_AES_128_GCM, ESP_SUITE_AES_256_GCM},
                                     .n_suites = 2,
                                     .tunnels = 8,
                                     .enabled = true,
                                     .liveness_interval_ms = 250,
                                     .liveness_missed = 4};
    CU_ASSERT_EQUAL_FATAL(store_connection_insert(db, &f->c, NULL), 0);
    f->l = (struct store_link){.id = id_new(),
                               .connection_id = f->c.id,
                               .kind = LINK_ATTACHMENT,
                               .gateway_a_id = f->ga.id,
                               .gateway_b_id = f->gb.id,
                               .tunnels = 8,
                               .port_offset = 7,
                               .enabled = true};
    CU_ASSERT_EQUAL(ipaddr_parse("10.1.0.1", &f->l.address_a), 0);
    CU_ASSERT_EQUAL(ipaddr_parse("2001:db8::2", &f->l.address_b), 0);
    CU_ASSERT_EQUAL_FATAL(store_link_insert(db, &f->l, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_commit(db, NULL), 0);
}

/* --- the file --- */

static void test_open(void)
{
    struct stat st;
    fresh();
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
    CU_ASSERT_TRUE(store_writable(store));
    store_close(store);
    store = NULL;
    CU_ASSERT_EQUAL(store_open(path, false, &store, NULL), 0);
    struct store *other = NULL;
    struct err e = {0};
    CU_ASSERT_EQUAL(store_open("/tmp/there-is-no/store.db", false, &other, &e), HW_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "bootstrap"));
}

static int pragma(sqlite3 *sq, const char *sql)
{
    sqlite3_stmt *s;
    CU_ASSERT_EQUAL_FATAL(sqlite3_prepare_v2(sq, sql, -1, &s, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_step(s), SQLITE_ROW);
    int v = sqlite3_column_int(s, 0);
    (void)sqlite3_finalize(s);
    return v;
}

/* From an empty file to the newest schema; again nothing to do; a newer store is refused. */
static void test_migrations(void)
{
    sqlite3 *sq;
    struct err e = {0};
    int newest = migrations[migrations_count - 1].number;
    for (size_t i = 0; i < migrations_count; i++)
        CU_ASSERT_EQUAL(migrations[i].number, (int)i + 1);
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(":memory:", &sq), SQLITE_OK);
    CU_ASSERT_EQUAL(migrate(sq, &e), 0);
    CU_ASSERT_EQUAL(pragma(sq, "PRAGMA user_version"), newest);
    CU_ASSERT_EQUAL(pragma(sq, "SELECT value FROM revision"), 0);
    CU_ASSERT_EQUAL(migrate(sq, &e), 0);
    char sql[64];
    (void)snprintf(sql, sizeof sql, "PRAGMA user_version = %d", newest + 1);
    CU_ASSERT_EQUAL(sqlite3_exec(sq, sql, NULL, NULL, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL(migrate(sq, &e), HW_EFAIL);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "newer"));
    (void)sqlite3_close(sq);
}

static void test_emptied_file(void)
{
    struct store *s = NULL;
    struct err e = {0};
    fresh();
    store_close(store);
    store = NULL;
    CU_ASSERT_EQUAL_FATAL(truncate(path, 0), 0);
    CU_ASSERT_EQUAL(store_open(path, false, &s, &e), HW_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "empty"));
    CU_ASSERT_EQUAL_FATAL(store_open(path, true, &store, &e), 0);
}

/* A full disk: the change is undone, the caller may try again, and it goes on once there is room.
 */
static void test_full_disk(void)
{
    struct err e = {0};
    fresh();
    struct db *db = begin(STORE_TELEMETRY);
    char big[200000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    CU_ASSERT_EQUAL(sqlite3_exec(db->sq, "PRAGMA max_page_count = 60", NULL, NULL, NULL),
                    SQLITE_OK);
    CU_ASSERT_EQUAL(store_meta_set(db, "big", big, &e), HW_EAGAIN);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "full"));
    store_rollback(db);
    db = begin(STORE_TELEMETRY);
    CU_ASSERT_EQUAL(sqlite3_exec(db->sq, "PRAGMA max_page_count = 100000", NULL, NULL, NULL),
                    SQLITE_OK);
    CU_ASSERT_EQUAL(store_meta_set(db, "big", big, &e), 0);
    CU_ASSERT_EQUAL(store_commit(db, &e), 0);
}

static void test_durability_settings(void)
{
    sqlite3 *sq;
    fresh();
    CU_ASSERT_EQUAL_FATAL(sqlite3_open(path, &sq), SQLITE_OK);
    sqlite3_stmt *s;
    CU_ASSERT_EQUAL(sqlite3_prepare_v2(sq, "PRAGMA journal_mode", -1, &s, NULL), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_step(s), SQLITE_ROW);
    CU_ASSERT_STRING_EQUAL((const char *)sqlite3_column_text(s, 0), "wal");
    (void)sqlite3_finalize(s);
    (void)sqlite3_close(sq);
}

static void test_revision(void)
{
    fresh();
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_revision(db), 1);
    store_rollback(db);
    db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_revision(db), 1);
    CU_ASSERT_EQUAL(store_commit(db, NULL), 0);
    db = begin(STORE_TELEMETRY);
    CU_ASSERT_EQUAL(store_revision(db), 1);
    CU_ASSERT_EQUAL(store_commit(db, NULL), 0);
    db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_revision_raise(db, 1, NULL), 0);
    CU_ASSERT_EQUAL(store_revision(db), 2);
    CU_ASSERT_EQUAL(store_revision_raise(db, 100, NULL), 0);
    CU_ASSERT_EQUAL(store_commit(db, NULL), 0);
    CU_ASSERT_EQUAL(store_read(store, &db, NULL), 0);
    CU_ASSERT_EQUAL(store_revision(db), 100);
    store_read_end(db);
}

static void *reader_sees(void *arg)
{
    struct db *db;
    struct store_site *list = NULL;
    size_t n = 99;
    CU_ASSERT_EQUAL(store_read(store, &db, NULL), 0);
    CU_ASSERT_EQUAL(store_site_all(db, &list, &n, NULL), 0);
    store_read_end(db);
    free(list);
    *(size_t *)arg = n;
    return NULL;
}

static size_t seen_by_another_thread(void)
{
    pthread_t t;
    size_t n = 99;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, reader_sees, &n), 0);
    pthread_join(t, NULL);
    return n;
}

/* A reader sees what is committed, and its own snapshot to its end. */
static void test_snapshots(void)
{
    fresh();
    struct store_site s = site("a", "10.1.0.0/16"), *list = NULL;
    size_t n = 0;
    struct db *writer = begin(STORE_CHANGE), *reader;
    CU_ASSERT_EQUAL(store_site_insert(writer, &s, NULL), 0);
    CU_ASSERT_EQUAL(seen_by_another_thread(), 0);
    CU_ASSERT_EQUAL(store_read(store, &reader, NULL), 0);
    CU_ASSERT_EQUAL(store_revision(reader), 0);
    CU_ASSERT_EQUAL(store_commit(writer, NULL), 0);
    CU_ASSERT_EQUAL(store_site_all(reader, &list, &n, NULL), 0);
    CU_ASSERT_EQUAL(n, 0);
    free(list);
    store_read_end(reader);
    CU_ASSERT_EQUAL(seen_by_another_thread(), 1);
}

static void test_seeds_last(void)
{
    uint64_t a[2], b[2];
    struct db *db;
    fresh();
    CU_ASSERT_EQUAL(store_read(store, &db, NULL), 0);
    CU_ASSERT_EQUAL(store_seeds(db, &a[0], &a[1], NULL), 0);
    store_read_end(db);
    store_close(store);
    CU_ASSERT_EQUAL_FATAL(store_open(path, false, &store, NULL), 0);
    CU_ASSERT_EQUAL(store_read(store, &db, NULL), 0);
    CU_ASSERT_EQUAL(store_seeds(db, &b[0], &b[1], NULL), 0);
    store_read_end(db);
    CU_ASSERT_EQUAL(a[0], b[0]);
    CU_ASSERT_EQUAL(a[1], b[1]);
    CU_ASSERT_NOT_EQUAL(a[0], a[1]);
}

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

static struct store_telemetry telemetry(const struct hw_id *g, uint64_t denials)
{
    static char refused[] = "[]", report[] = "{\"x\":1}";
    return (struct store_telemetry){.gateway_id = *g,
                                    .observed_at = 1000,
                                    .refused_json = refused,
                                    .report_json = report,
                                    .denials_revision = denials,
                                    .goodput_tx_bps = 1.5e9};
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

static void test_telemetry(void)
{
    struct fleet *f = calloc(1, sizeof *f);
    struct store_telemetry got = {0};
    struct store_link_status status[2];
    struct store_history_row *rows = NULL;
    size_t n = 0;
    unsigned removed = 9;
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
    CU_ASSERT_STRING_EQUAL(got.report_json, "{\"x\":1}");
    store_telemetry_done(&got);
    t.gateway_id = id_new();
    CU_ASSERT_EQUAL(store_telemetry_put(db, &t, NULL), HW_ENOTFOUND);

    t.gateway_id = f->ga.id;
    t.observed_at = 1004;
    CU_ASSERT_EQUAL(store_telemetry_put(db, &t, NULL), 0); /* in the place of the last one */
    CU_ASSERT_EQUAL(store_history_list(db, &f->ga.id, 0, 9, 8, &rows, &n, NULL), 0);
    CU_ASSERT_EQUAL(n, 2); /* of seven bytes each */
    store_history_free(rows, n);
    CU_ASSERT_EQUAL(store_history_list(db, &f->ga.id, 0, 2, 99, &rows, &n, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(n, 2);
    CU_ASSERT_EQUAL(rows[0].observed_at, 1004);
    int64_t before = rows[1].row_id;
    store_history_free(rows, n);
    CU_ASSERT_EQUAL(store_history_list(db, &f->ga.id, before, 9, 99, &rows, &n, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(n, 3);
    CU_ASSERT_EQUAL(rows[2].observed_at, 1000);
    store_history_free(rows, n);
    CU_ASSERT_EQUAL(store_history_expire(db, 1003, 2, &removed, NULL), 0);
    CU_ASSERT_EQUAL(removed, 2);
    CU_ASSERT_EQUAL(store_history_expire(db, 1003, 2, &removed, NULL), 0);
    CU_ASSERT_EQUAL(removed, 1);

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

static void test_api_tokens(void)
{
    struct store_api_token t = {.id = id_new(), .prefix = "hwa1.x", .created_at = 5, .sha256 = {1}},
                           *list = NULL;
    size_t n = 9;
    bool any = true;
    fresh();
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(store_api_token_any(db, &any, NULL), 0);
    CU_ASSERT_FALSE(any);
    CU_ASSERT_EQUAL(store_api_token_insert(db, &t, NULL), 0);
    CU_ASSERT_EQUAL(store_api_token_valid(db, &list, &n, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(n, 1);
    CU_ASSERT_EQUAL(memcmp(&list[0], &t, sizeof t), 0);
    free(list);
    CU_ASSERT_EQUAL(store_api_token_revoke_all(db, NULL), 0);
    CU_ASSERT_EQUAL(store_api_token_valid(db, &list, &n, NULL), 0);
    CU_ASSERT_EQUAL(n, 0);
    free(list);
    CU_ASSERT_EQUAL(store_api_token_any(db, &any, NULL), 0);
    CU_ASSERT_TRUE(any);
    store_rollback(db);
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
    {"open", test_open},
    {"migrations", test_migrations},
    {"an emptied file", test_emptied_file},
    {"a full disk", test_full_disk},
    {"write-ahead log", test_durability_settings},
    {"revision", test_revision},
    {"snapshots", test_snapshots},
    {"seeds last", test_seeds_last},
    {"site", test_site},
    {"overlap", test_overlap},
    {"dependents of a site", test_dependents},
    {"gateway", test_gateway},
    {"overlay addresses", test_overlay_alloc},
    {"overlay pools", test_pools_are_fixed},
    {"connection", test_connection},
    {"link", test_link},
    {"enrolment token", test_token},
    {"signed documents", test_signed},
    {"denials", test_denial},
    {"telemetry", test_telemetry},
    {"domains", test_domains},
    {"API tokens", test_api_tokens},
    {"pages", test_pages},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    if (!mkdtemp(dir))
        return 2;
    (void)snprintf(path, sizeof path, "%s/hawser.db", dir);
    int rc = suite_run("store", tests);
    store_close(store);
    static const char *const suffix[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        char name[80];
        (void)snprintf(name, sizeof name, "%s%s", path, suffix[i]);
        (void)unlink(name);
    }
    (void)rmdir(dir);
    return rc;
}
