/*
 * A change: one write transaction, the plan that follows from it, and the waking of the gateways
 * whose bytes changed. Handlers of both APIs use it for every write that may alter a config,
 * denials or who may connect.
 */
#ifndef HAWSER_CONTROLLER_CHANGE_H
#define HAWSER_CONTROLLER_CHANGE_H

#include "common/err.h"
#include "controller/push/publish.h"

struct app;
struct db;

/* STORE_CHANGE transaction on *out. */
int change_begin(struct app *app, struct db **out, struct err *e);
/* Plans the whole topology and signs what changed inside the transaction (push/publish.h), commits,
 * wakes. A plan that is refused undoes everything (HW_ECONFLICT, or HW_EINVAL with the field). The
 * transaction is over either way. */
int change_commit(struct app *app, struct db *db, enum publish_cause cause, struct err *e);
void change_abort(struct db *db);
/* The end, for who has planned by publish_changes itself: commits and wakes when rc is 0, else
 * undoes everything and returns rc. Empties *result. */
int change_finish(struct app *app, struct db *db, int rc, struct publish_result *result,
                  struct err *e);

#endif
