/*
 * The life of an operation: its commands go out one after the other with the polls of their
 * gateways, reports come in, and what was found is put together. Every function works inside the
 * caller's transaction; whoever has something new to fetch stands in `wake` for after the commit.
 */
#ifndef HAWSER_CONTROLLER_OPERATIONS_OPERATIONS_H
#define HAWSER_CONTROLLER_OPERATIONS_OPERATIONS_H

#include "common/err.h"
#include "common/id.h"
#include "common/model/command.h"
#include "controller/store/operation.h"
#include "controller/store/store.h"
#include <stdbool.h>
#include <stddef.h>

struct hub;

#define OPERATIONS_QUEUE_S   60  /* not begun by then: expired */
#define OPERATIONS_SILENCE_S 30  /* no report for so long: failed */
#define OPERATIONS_TIME_S    300 /* a command, however it goes on */
#define OPERATIONS_KEPT_S    (7 * 86400)
#define OPERATIONS_KEPT_MAX  10000
#define OPERATIONS_OPEN_MAX  16 /* of one gateway, waiting ones included */
#define OPERATIONS_AT_ONCE   2  /* commands that an agent is given */

struct operations_wake {
    struct hw_id gateways[32];
    size_t n;
    bool all; /* there are more than 32: everybody is to look again */
};

/* After the commit. */
void operations_tell(const struct operations_wake *wake, struct hub *hub);

/* A new operation with its first command: `o` has kind, gateway, request and creator. HW_ECONFLICT
 * when too many of the gateway are open. */
int operations_begin(struct db *db, struct store_operation *o, const struct command *c,
                     struct operations_wake *wake, struct err *e);
/* Level-triggered: one that is over stays as it is. */
int operations_cancel(struct db *db, const struct hw_id *id, struct operations_wake *wake,
                      struct err *e);

/* What a gateway's poll answers. */
int operations_due(struct db *db, const struct hw_id *gateway_id,
                   struct command out[COMMAND_POLL_MAX], size_t *n, struct err *e);
/* An agent's report. HW_ENOTFOUND: not a command of this gateway; HW_ECONFLICT: already over. An
 * older sequence is ignored. */
int operations_report(struct db *db, const struct hw_id *gateway_id, const struct hw_id *command_id,
                      const struct command_report *r, struct operations_wake *wake, struct err *e);

/* Ends what waits in vain, removes what is old. */
int operations_expire(struct db *db, struct operations_wake *wake, struct err *e);

/* Is there anything that operations_expire would have to look at soon? */
int operations_any_open(struct db *db, bool *out, struct err *e);

#endif
