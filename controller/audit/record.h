/*
 * One record of the audit: a JSON text whose members stand in a fixed order, without white space,
 * and which names the hash of the record before. Its own hash is the SHA-256 of that text, so that
 * anybody can judge an exported chain with a hash function alone (docs/operations.md).
 */
#ifndef HAWSER_CONTROLLER_AUDIT_RECORD_H
#define HAWSER_CONTROLLER_AUDIT_RECORD_H

#include "common/err.h"
#include "controller/http/request.h"
#include "controller/store/audit.h"

#define AUDIT_ACTION_MAX 128
#define AUDIT_STATE_MAX  (16u << 10) /* above it, hash and size stand for the state */

enum audit_actor_kind {
    AUDIT_KEY,
    AUDIT_GATEWAY,
    AUDIT_CONTROLLER, /* by itself */
    AUDIT_COMMAND,    /* hawser-controller, called on its machine */
    AUDIT_NOBODY,     /* that is known */
};

struct audit_record {
    enum audit_actor_kind kind;
    struct hw_id actor_id;            /* zero: none */
    const char *actor_name;           /* NULL: not known */
    enum http_role role;              /* of a key */
    const struct http_request *req;   /* NULL: there was none */
    char action[AUDIT_ACTION_MAX];    /* "sites.create" */
    char object_type[AUDIT_TYPE_MAX]; /* "": it is about no object */
    struct hw_id object_id;           /* zero: none */
    int refused;                      /* status of the refusal; 0: it was done */
    unsigned omitted;                 /* refusals before this one that were not recorded */
    const char *before, *after;       /* JSON objects without secrets; NULL: none */
};

/* Writes it behind the newest, inside the write transaction. */
int audit_record_write(struct db *db, const struct audit_record *r, struct err *e);
/* Is the row what its record says, and does it follow `previous`? HW_EFAIL with the reason. */
int audit_record_judge(const struct store_audit *row, const struct store_audit_head *previous,
                       struct err *e);

#endif
