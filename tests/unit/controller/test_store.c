#include "controller/store/migrate.h"
#include "controller/store/site.h"
#include "controller/store/stmt.h"
#include "tests/unit/controller/store_file.h"
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static CU_TestInfo tests[] = {
    {"open", test_open},
    {"migrations", test_migrations},
    {"an emptied file", test_emptied_file},
    {"a full disk", test_full_disk},
    {"write-ahead log", test_durability_settings},
    {"revision", test_revision},
    {"snapshots", test_snapshots},
    {"seeds last", test_seeds_last},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return store_suite_run("store", tests);
}
