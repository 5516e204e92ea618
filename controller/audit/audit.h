/*
 * The audit: one record for each write, in the transaction of the write itself.
 *
 * Whoever knows what was changed says so by audit_request; every other change gets its record at
 * the commit (store_set_witness), from the request that this thread serves, or else as the
 * controller's own. So no handler can forget it.
 */
#ifndef HAWSER_CONTROLLER_AUDIT_AUDIT_H
#define HAWSER_CONTROLLER_AUDIT_AUDIT_H

#include "controller/audit/record.h"

/* The request that this thread serves from now on; NULL: none. */
void audit_serve(const struct http_request *req);

/* What a write did to one object. */
struct audit_change {
    const char *type;       /* NULL: what the path begins with */
    const struct hw_id *id; /* NULL: what the path names first */
    const char *before,
        *after; /* as in struct audit_record; both NULL: the request's body is `after` */
};
/* Action, type and id follow from the route. `c` may be NULL. */
int audit_request(struct db *db, const struct http_request *req, const struct audit_change *c,
                  struct err *e);
/* … where its body must not be kept. */
int audit_request_bare(struct db *db, const struct http_request *req, struct err *e);
/* By a gateway: the one whose machine asks, which may have become it by the request itself. */
/* `action`: "enrol". */
int audit_gateway(struct db *db, const struct http_request *req, const char *action,
                  const struct hw_id *gateway_id, const char *name, struct err *e);
/* By the controller itself, or one of its commands. */
int audit_own(struct db *db, enum audit_actor_kind kind, const char *action, const char *after,
              struct err *e);
/* A store_witness_fn. */
int audit_witness(struct db *db, struct err *e);

/* A request that was refused; `status` is 401 or 403. */
int audit_refused(struct db *db, const struct http_request *req, const struct http_route *route,
                  int status, unsigned omitted, struct err *e);

#endif
