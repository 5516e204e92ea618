/* The chain of audit records (controller/audit/record.h says what is in one). */
#ifndef HAWSER_CONTROLLER_STORE_AUDIT_H
#define HAWSER_CONTROLLER_STORE_AUDIT_H

#include "common/id.h"
#include "controller/store/store.h"
#include "controller/store/token.h"
#include <stdbool.h>

#define AUDIT_TYPE_MAX 64

struct store_audit_head {
    uint64_t sequence; /* 0: there is no record */
    uint8_t hash[STORE_SHA256_LEN];
};

struct store_audit {
    uint64_t sequence;
    char *record; /* JSON text; owned when it was read */
    uint8_t hash[STORE_SHA256_LEN];
    /* What lists are filtered by, as the record has it: */
    int64_t at;
    struct hw_id actor_id;            /* zero: none */
    char object_type[AUDIT_TYPE_MAX]; /* "": none */
    struct hw_id object_id;           /* zero: none */
    bool refused;
};
/* Frees what store_audit_list made. */
void store_audit_list_done(struct store_audit *list, size_t n);

/* The newest record, as it was when it was written: a later removal of records doesn't change it.
 */
int store_audit_head(struct db *db, struct store_audit_head *out, struct err *e);
/* The transaction has its record with this: store_commit asks for none (store.h). */
int store_audit_append(struct db *db, const struct store_audit *a, struct err *e);

struct store_audit_filter {
    struct hw_id actor_id, object_id; /* zero: any */
    const char *object_type;          /* NULL: any */
    bool by_refused, refused;
    int64_t from, to; /* at or after, before; `to` 0: no end */
    bool oldest_first;
    uint64_t after; /* sequence of the last record of the page before; 0: from the start */
    unsigned limit;
};
int store_audit_list(struct db *db, const struct store_audit_filter *f, struct store_audit **out,
                     size_t *n, struct err *e);

/* The first record at or after `at`, and the oldest of all. HW_ENOTFOUND. */
int store_audit_first_since(struct db *db, int64_t at, uint64_t *sequence, struct err *e);
int store_audit_get(struct db *db, uint64_t sequence, struct store_audit *out, struct err *e);
int store_audit_oldest(struct db *db, uint64_t *sequence, struct err *e);
/* Removes the records up to this one. */
int store_audit_prune(struct db *db, uint64_t through, struct err *e);

#endif
