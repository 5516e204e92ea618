/*
 * The store: one SQLite file in WAL mode with synchronous=FULL (NORMAL lost acknowledged commits at
 * power cuts). One writer connection behind a mutex, one reader a thread. All SQL of the controller
 * is in this folder; the files beside this one hold one resource each and work on a `struct db` got
 * here.
 */
#ifndef HAWSER_CONTROLLER_STORE_STORE_H
#define HAWSER_CONTROLLER_STORE_STORE_H

#include "common/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store; /* the file, its writer and its readers; shared by all threads */
struct db;    /* one connection inside a transaction; belongs to the thread that began it */

/* Opens and migrates. `create`: make the file when it is missing or empty (bootstrap), else
 * HW_ENOTFOUND. */
int store_open(const char *path, bool create, struct store **out, struct err *e);
/* For store_read() alone: the file stays as it is, of an older schema too. HW_ENOTFOUND. */
int store_open_to_read(const char *path, struct store **out, struct err *e);
/* After all other threads have ended their transactions. NULL is accepted. */
void store_close(struct store *s);

/* A read transaction: one consistent snapshot, on this thread's own connection. Doesn't nest. */
int store_read(struct store *s, struct db **out, struct err *e);
void store_read_end(struct db *db);

enum store_write_kind {
    STORE_CHANGE,    /* raises the global revision: anything an operator or an agent's enrolment
                        changes */
    STORE_TELEMETRY, /* what agents report about themselves; leaves the revision alone */
};
/* A write transaction; waits for the writer. Reads on `db` see its own writes. */
int store_begin(struct store *s, enum store_write_kind kind, struct db **out, struct err *e);
/* Durable when 0 is returned; otherwise everything was undone. The transaction is over either way.
 */
int store_commit(struct db *db, struct err *e);
/* Called inside store_commit of every STORE_CHANGE transaction that has no audit record yet, to
 * write one: no change is without. NULL, as at first: none is written. */
typedef int (*store_witness_fn)(struct db *db, struct err *e);
void store_set_witness(struct store *s, store_witness_fn fn);
/* NULL is accepted. */
void store_rollback(struct db *db);

/* The global revision: in a STORE_CHANGE transaction already the new one. */
uint64_t store_revision(struct db *db);
/* Raises it to at least `floor` (STORE_CHANGE alone): an agent knew of a higher one than this
 * store. */
int store_revision_raise(struct db *db, uint64_t floor, struct err *e);
/* Seconds since 1970 at which this transaction began: created_at and updated_at of all it writes.
 */
int64_t store_now(const struct db *db);

/* Small fixed values: seeds, pools. *out is malloc'ed; HW_ENOTFOUND when unset. */
int store_meta_get(struct db *db, const char *key, char **out, struct err *e);
int store_meta_set(struct db *db, const char *key, const char *value, struct err *e);

/* Fleet-wide hash seeds, made once when the store is created. */
int store_seeds(struct db *db, uint64_t *flow_seed, uint64_t *tunnel_seed, struct err *e);

/* True when the file can be written now, and its disk has room for it (readyz). */
bool store_writable(struct store *s);

/* Fields that every resource has. */
struct store_common {
    int64_t created_at, updated_at; /* seconds since 1970 */
    uint64_t revision;              /* global revision of its last change */
};

/* One page of a list in the order of its key (name, or id text where there is no name). */
struct store_page {
    const char *after; /* key of the last object of the page before; NULL: from the start */
    unsigned limit;    /* at least 1 */
};

#endif
