#include "controller/store/store.h"
#include "common/clock.h"
#include "common/id.h"
#include "controller/store/migrate.h"
#include "controller/store/stmt.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BUSY_MS 5000 /* for another process (bootstrap) that writes */

#define ROOM_BYTES (1u << 20) /* less than this on the disk: the next write may well fail */

struct store {
    char path[PATH_MAX];
    pthread_mutex_t write_lock; /* held for the length of a write transaction */
    struct db *writer;
    store_witness_fn witness;
    pthread_key_t reader_key; /* each thread's reader */
    pthread_mutex_t readers_lock;
    struct db *readers;
};

static void db_close(struct db *db)
{
    if (!db)
        return;
    for (size_t i = 0; i < STMT_CACHE; i++)
        (void)sqlite3_finalize(db->cache[i].s);
    (void)sqlite3_close(db->sq);
    free(db);
}

static int db_open(struct store *s, bool writer, struct db **out, struct err *e)
{
    static const char pragmas[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                                  "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;";
    struct db *db = calloc(1, sizeof *db);
    if (!db)
        return err_set(e, HW_ENOMEM, "out of memory");
    db->store = s;
    db->writer = writer;
    int flags = (writer ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(s->path, &db->sq, flags, NULL) != SQLITE_OK ||
        sqlite3_busy_timeout(db->sq, BUSY_MS) != SQLITE_OK ||
        sqlite3_exec(db->sq, writer ? pragmas : "PRAGMA trusted_schema = OFF", NULL, NULL, NULL) !=
            SQLITE_OK) {
        int rc = err_set(e, HW_EFAIL, "open the store %s: %s", s->path,
                         db->sq ? sqlite3_errmsg(db->sq) : "out of memory");
        db_close(db);
        return rc;
    }
    (void)sqlite3_extended_result_codes(db->sq, 1);
    *out = db;
    return 0;
}

/* Thread exit: its reader goes. */
static void reader_drop(void *arg)
{
    struct db *db = arg;
    struct store *s = db->store;
    pthread_mutex_lock(&s->readers_lock);
    struct db **p = &s->readers;
    while (*p && *p != db)
        p = &(*p)->next_reader;
    if (*p)
        *p = db->next_reader;
    pthread_mutex_unlock(&s->readers_lock);
    db_close(db);
}

static int exec(struct db *db, const char *sql, struct err *e)
{
    if (sqlite3_exec(db->sq, sql, NULL, NULL, NULL) != SQLITE_OK)
        return stmt_error(db, sql, e);
    return 0;
}

static int make_file(const char *path, bool create, struct err *e)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600);
    if (fd < 0 && errno == ENOENT)
        return err_set(e, HW_ENOTFOUND, "there is no store %s: run hawser-controller bootstrap",
                       path);
    if (fd < 0)
        return err_errno(e, errno, "open the store %s", path);
    (void)close(fd);
    return 0;
}

/* The fleet's hash seeds: once, in the first transaction of a new store. */
static int make_seeds(struct store *s, struct err *e)
{
    struct db *db = NULL;
    char *have = NULL;
    int rc = store_begin(s, STORE_TELEMETRY, &db, e);
    if (rc)
        return rc;
    rc = store_meta_get(db, "flow_seed", &have, e);
    free(have);
    if (rc != HW_ENOTFOUND) {
        store_rollback(db);
        return rc;
    }
    uint64_t seeds[2];
    char text[2][24];
    rand_bytes(seeds, sizeof seeds);
    for (int i = 0; i < 2; i++)
        (void)snprintf(text[i], sizeof text[i], "%016llx", (unsigned long long)seeds[i]);
    rc = store_meta_set(db, "flow_seed", text[0], e);
    if (!rc)
        rc = store_meta_set(db, "tunnel_seed", text[1], e);
    if (!rc)
        return store_commit(db, e);
    store_rollback(db);
    return rc;
}

/* An emptied file would make a controller that knows no gateway: all would be sent away. */
static int refuse_empty(struct db *db, const char *path, struct err *e)
{
    bool empty = false;
    int rc = migrate_is_empty(db->sq, &empty, e);
    if (!rc && empty)
        rc = err_set(e, HW_ENOTFOUND,
                     "%s is empty: put a backup in its place, or run hawser-controller bootstrap",
                     path);
    return rc;
}

static int make(const char *path, struct store **out, struct err *e)
{
    struct store *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, HW_ENOMEM, "out of memory");
    (void)snprintf(s->path, sizeof s->path, "%s", path);
    pthread_mutex_init(&s->write_lock, NULL);
    pthread_mutex_init(&s->readers_lock, NULL);
    if (pthread_key_create(&s->reader_key, reader_drop)) {
        free(s);
        return err_set(e, HW_EFAIL, "no thread key for the store's readers");
    }
    *out = s;
    return 0;
}

int store_open_to_read(const char *path, struct store **out, struct err *e)
{
    struct store *s;
    struct db *db;
    if (access(path, F_OK) && errno == ENOENT)
        return err_set(e, HW_ENOTFOUND, "there is no store %s", path);
    int rc = make(path, &s, e);
    if (rc)
        return rc;
    rc = store_read(s, &db, e);
    if (!rc) {
        rc = migrate_is_known(db->sq, e);
        store_read_end(db);
    }
    if (rc) {
        store_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

int store_open(const char *path, bool create, struct store **out, struct err *e)
{
    struct store *s;
    int rc = make_file(path, create, e);
    rc = rc ? rc : make(path, &s, e);
    if (rc)
        return rc;
    rc = db_open(s, true, &s->writer, e);
    if (!rc && !create)
        rc = refuse_empty(s->writer, path, e);
    if (!rc)
        rc = migrate(s->writer->sq, e);
    if (!rc)
        rc = make_seeds(s, e);
    if (rc) {
        store_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    (void)pthread_key_delete(
        s->reader_key); /* its threads are gone, or have no destructor any more */
    while (s->readers) {
        struct db *db = s->readers;
        s->readers = db->next_reader;
        db_close(db);
    }
    db_close(s->writer);
    pthread_mutex_destroy(&s->write_lock);
    pthread_mutex_destroy(&s->readers_lock);
    free(s);
}

static int reader_of_thread(struct store *s, struct db **out, struct err *e)
{
    struct db *db = pthread_getspecific(s->reader_key);
    if (!db) {
        int rc = db_open(s, false, &db, e);
        if (rc)
            return rc;
        if (pthread_setspecific(s->reader_key, db)) {
            db_close(db);
            return err_set(e, HW_ENOMEM, "out of memory");
        }
        pthread_mutex_lock(&s->readers_lock);
        db->next_reader = s->readers;
        s->readers = db;
        pthread_mutex_unlock(&s->readers_lock);
    }
    *out = db;
    return 0;
}

int store_read(struct store *s, struct db **out, struct err *e)
{
    struct db *db = NULL;
    int rc = reader_of_thread(s, &db, e);
    if (rc)
        return rc;
    rc = exec(db, "BEGIN", e);
    if (rc)
        return rc;
    db->in_transaction = true;
    db->now = clock_wall_s();
    *out = db;
    return 0;
}

void store_read_end(struct db *db)
{
    if (!db)
        return;
    (void)sqlite3_exec(db->sq, "ROLLBACK", NULL, NULL, NULL);
    db->in_transaction = false;
}

static int raise_revision(struct db *db, struct err *e)
{
    struct stmt q =
        stmt_get(db, "UPDATE revision SET value = value + 1 WHERE one = 1 RETURNING value");
    int rc = stmt_one(&q, "revision", e);
    if (!rc)
        db->revision = (uint64_t)col_int(&q);
    stmt_end(&q);
    return rc;
}

int store_begin(struct store *s, enum store_write_kind kind, struct db **out, struct err *e)
{
    pthread_mutex_lock(&s->write_lock);
    struct db *db = s->writer;
    int rc = exec(db, "BEGIN IMMEDIATE", e);
    if (rc) {
        pthread_mutex_unlock(&s->write_lock);
        return rc;
    }
    db->in_transaction = true;
    db->audited = false;
    db->kind = kind;
    db->now = clock_wall_s();
    rc = kind == STORE_CHANGE ? raise_revision(db, e) : 0;
    if (rc) {
        store_rollback(db);
        return rc;
    }
    *out = db;
    return 0;
}

static void write_over(struct db *db)
{
    db->in_transaction = false;
    pthread_mutex_unlock(&db->store->write_lock);
}

void store_set_witness(struct store *s, store_witness_fn fn)
{
    s->witness = fn;
}

int store_commit(struct db *db, struct err *e)
{
    store_witness_fn witness = db->store->witness;
    int rc = witness && db->kind == STORE_CHANGE && !db->audited ? witness(db, e) : 0;
    if (!rc)
        rc = exec(db, "COMMIT", e);
    if (rc)
        (void)sqlite3_exec(db->sq, "ROLLBACK", NULL, NULL, NULL);
    write_over(db);
    return rc;
}

void store_rollback(struct db *db)
{
    if (!db)
        return;
    (void)sqlite3_exec(db->sq, "ROLLBACK", NULL, NULL, NULL);
    write_over(db);
}

uint64_t store_revision(struct db *db)
{
    if (db->writer && db->kind == STORE_CHANGE)
        return db->revision;
    struct stmt q = stmt_get(db, "SELECT value FROM revision");
    uint64_t v = stmt_row(&q, NULL) == 1 ? (uint64_t)col_int(&q) : 0;
    stmt_end(&q);
    return v;
}

int store_revision_raise(struct db *db, uint64_t floor, struct err *e)
{
    if (floor > INT64_MAX / 2) /* room to count on, for ever */
        return err_set(e, HW_EINVAL, "revision %llu is out of range", (unsigned long long)floor);
    if (floor <= db->revision)
        return 0;
    struct stmt q = stmt_get(db, "UPDATE revision SET value = ? WHERE one = 1");
    stmt_int(&q, (int64_t)floor);
    int rc = stmt_run(&q, NULL, e);
    if (!rc)
        db->revision = floor;
    return rc;
}

int64_t store_now(const struct db *db)
{
    return db->now;
}

int store_meta_get(struct db *db, const char *key, char **out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT value FROM meta WHERE key = ?");
    stmt_text(&q, key);
    int rc = stmt_one(&q, key, e);
    if (!rc) {
        *out = col_text_dup(&q);
        if (!*out)
            rc = err_set(e, HW_ENOMEM, "out of memory");
    }
    stmt_end(&q);
    return rc;
}

int store_meta_set(struct db *db, const char *key, const char *value, struct err *e)
{
    struct stmt q = stmt_get(db, "INSERT INTO meta VALUES (?, ?)"
                                 " ON CONFLICT (key) DO UPDATE SET value = excluded.value");
    stmt_text(&q, key);
    stmt_text(&q, value);
    return stmt_run(&q, NULL, e);
}

static int seed(struct db *db, const char *key, uint64_t *out, struct err *e)
{
    char *text = NULL;
    int rc = store_meta_get(db, key, &text, e);
    if (!rc)
        *out = strtoull(text, NULL, 16);
    free(text);
    return rc;
}

int store_seeds(struct db *db, uint64_t *flow_seed, uint64_t *tunnel_seed, struct err *e)
{
    int rc = seed(db, "flow_seed", flow_seed, e);
    return rc ? rc : seed(db, "tunnel_seed", tunnel_seed, e);
}

bool store_writable(struct store *s)
{
    struct db *db = NULL;
    struct statvfs disk;
    if (statvfs(s->path, &disk) || (uint64_t)disk.f_bavail * disk.f_frsize < ROOM_BYTES)
        return false;
    if (store_begin(s, STORE_TELEMETRY, &db, NULL))
        return false;
    store_rollback(db);
    return true;
}
