/*
 * The way from a write to the agents (DESIGN section 4): plan the whole fleet inside the write's
 * own transaction, sign and store what changed, and after the commit wake those whose bytes
 * changed. A refused plan fails the write, and its rollback leaves nothing behind. change.h puts
 * the steps in order.
 */
#ifndef HAWSER_CONTROLLER_PUSH_PUBLISH_H
#define HAWSER_CONTROLLER_PUSH_PUBLISH_H

#include "common/err.h"
#include "common/id.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;
struct db;

enum publish_cause {
    PUBLISH_OPERATOR, /* a link that can't be, and was not so before, refuses the write */
    PUBLISH_AGENT, /* enrolment, reports: such a link is stored without addresses and stays out of
                      the configs */
};

struct publish_result {
    struct hw_id *gateways; /* whose config changed; owned */
    size_t n_gateways;
    bool
        denials; /* every gateway has something new; a revoked one's poll ends by the same waking */
    struct store_lapsed *ended; /* permissions that did; owned */
    size_t n_ended;
};
void publish_result_done(struct publish_result *r);

/*
 * Inside the STORE_CHANGE transaction. Loads the topology, plans, writes the links, signs each
 * config whose bytes changed with this transaction's revision, and signs the denials when their
 * number has risen. HW_EINVAL or HW_ECONFLICT, with the field and the reason, when the plan is
 * refused.
 */
int publish_changes(struct app *app, struct db *db, enum publish_cause cause,
                    struct publish_result *out, struct err *e);
/* After the commit. */
void publish_wake(struct app *app, const struct publish_result *r);

/* Numbers given out: an agent that knows more than the store means that the store is a restored
 * backup. */
struct publish_known {
    uint64_t revision, denials;
};
bool publish_is_behind(const struct publish_known *store, const struct publish_known *agent);
/* How far ahead of the store an agent is believed to be: more changes than any backup can have
 * missed. What one gateway claims must not use up the counters of all. */
#define PUBLISH_LEAD_MAX (UINT64_C(1) << 32)
/* Raises the store's counters above what the agent knows and holds the pushing of configs (denials
 * still go out) until an admin accepts what this store says. Nothing where the store knows as much
 * by now. HW_EINVAL beyond PUBLISH_LEAD_MAX. Inside STORE_CHANGE. */
int publish_hold(struct db *db, const struct hw_id *gateway, const struct publish_known *agent,
                 struct err *e);
/* The store is a restored backup, says who restored it: as above, without waiting for an agent that
 * knows more. What the store has written since the backup may have taken numbers that agents know
 * with other contents, so its counters jump above all that can have been given out. */
int publish_restored(struct db *db, struct err *e);
/* *held, and then a sentence for people in `why`. */
int publish_held(struct db *db, bool *held, char *why, size_t why_len, struct err *e);
/* An admin accepts: lifts the hold and signs every config anew under this transaction's revision.
 */
int publish_accept(struct app *app, struct db *db, struct publish_result *out, struct err *e);

#endif
