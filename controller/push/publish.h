/*
 * From a changed store to changed gateways: loads the whole topology, plans it, writes links back,
 * signs and stores each config whose bytes changed and the denials when their number rose.
 */
#ifndef HAWSER_CONTROLLER_PUSH_PUBLISH_H
#define HAWSER_CONTROLLER_PUSH_PUBLISH_H

#include "common/err.h"
#include "common/id.h"
#include <stdbool.h>
#include <stddef.h>

struct app;
struct db;

struct publish_result {
    struct hw_id *gateways; /* whose config changed; owned */
    size_t n_gateways;
    bool denials;          /* every gateway has something new */
    struct hw_id *revoked; /* whose parked polls end now; owned */
    size_t n_revoked;
};
void publish_result_done(struct publish_result *r);

/* Inside the write transaction. HW_ECONFLICT when the plan refuses the topology, with the reason.
 */
int publish_changes(struct app *app, struct db *db, struct publish_result *out, struct err *e);
/* After the commit. */
void publish_wake(struct app *app, const struct publish_result *r);

#endif
