/*
 * Inside of store/: prepared statements by their text, with parameters bound and columns read in
 * order. An error while binding is kept and comes out of stmt_run or stmt_row, so callers check
 * once.
 */
#ifndef HAWSER_CONTROLLER_STORE_STMT_H
#define HAWSER_CONTROLLER_STORE_STMT_H

#include "common/err.h"
#include "common/id.h"
#include "common/ipaddr.h"
#include "controller/store/store.h"
#include <sqlite3.h>

/* Well above the number of stmt_get in store/, which a test counts: none is ever given up. */
#define STMT_CACHE 512

/* One connection. Belongs to one thread at a time: the writer's to whoever holds store.write_lock.
 */
struct db {
    sqlite3 *sq;
    struct store *store;
    bool writer;
    enum store_write_kind kind;
    bool in_transaction;
    bool audited; /* the write transaction has its audit record */
    int64_t now;
    uint64_t revision; /* of a write transaction */
    struct {
        const char *sql; /* a literal: compared by address */
        sqlite3_stmt *s;
    } cache[STMT_CACHE];
    struct db *next_reader;
};

struct stmt {
    struct db *db;
    sqlite3_stmt *s;
    int param, column; /* next */
    int rc;
};

/* `sql` must be a literal. */
struct stmt stmt_get(struct db *db, const char *sql);

void stmt_int(struct stmt *q, int64_t v);
void stmt_double(struct stmt *q, double v);
void stmt_text(struct stmt *q, const char *v);
/* NULL stays NULL. */
void stmt_blob(struct stmt *q, const void *v, size_t len);
void stmt_id(struct stmt *q, const struct hw_id *id);
/* 4 or 16 bytes; NULL for family 0. */
void stmt_ip(struct stmt *q, const struct ipaddr *a);
/* created_at (given, or now when 0), updated_at = now, revision = this transaction's; fills *c. */
void stmt_common(struct stmt *q, struct store_common *c);

/* Runs a statement that gives no rows. HW_ECONFLICT with the column as field where a constraint
 * says no. *changed (may be NULL): rows touched. */
int stmt_run(struct stmt *q, int *changed, struct err *e);
/* 1: a row stands ready; 0: no more; negative: error. Statements of which not all rows are read
 * need stmt_end. */
int stmt_row(struct stmt *q, struct err *e);
void stmt_end(struct stmt *q);
/* Exactly one row or HW_ENOTFOUND "no such WHAT". Needs stmt_end after the columns are read when 0.
 */
int stmt_one(struct stmt *q, const char *what, struct err *e);

int64_t col_int(struct stmt *q);
double col_double(struct stmt *q);
/* Cut at cap - 1 bytes; the edge let nothing longer in. */
void col_text(struct stmt *q, char *out, size_t cap);
/* malloc'ed; NULL for SQL NULL or when out of memory (then q->rc says so at the end). */
char *col_text_dup(struct stmt *q);
void *col_blob_dup(struct stmt *q, size_t *len);
/* Copies exactly `len` bytes; zeroes where the column is shorter. */
void col_bytes(struct stmt *q, void *out, size_t len);
void col_id(struct stmt *q, struct hw_id *out);
void col_ip(struct stmt *q, struct ipaddr *out);
void col_common(struct stmt *q, struct store_common *c);

/* Error of the connection's last call. */
int stmt_error(struct db *db, const char *what, struct err *e);

/* A growing array of rows: room for one more element of `size` bytes, zeroed; NULL when out of
 * memory. */
void *rows_add(void **list, size_t *n, size_t size);

#endif
