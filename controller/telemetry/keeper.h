/*
 * What becomes of rows with time (docs/protocols.md, "Telemetry in the store"): a finished period
 * becomes one row of the next step, and what is older than its step is kept goes.
 */
#ifndef HAWSER_CONTROLLER_TELEMETRY_KEEPER_H
#define HAWSER_CONTROLLER_TELEMETRY_KEEPER_H

#include "controller/store/store.h"
#include "controller/telemetry/rollup.h"

enum keeper_step { KEEPER_RAW, KEEPER_MINUTE, KEEPER_QUARTER, KEEPER_HOUR, KEEPER_STEPS };

struct keeper_rule {
    const char *name;               /* "raw" "1m" "15m" "1h" */
    unsigned seconds;               /* 0: raw */
    int64_t keep_main, keep_detail; /* seconds; 0: no detail */
};
extern const struct keeper_rule keeper_rules[KEEPER_STEPS];

/* Rolls up one gateway's finished periods, at most `max` of them. *done: how many. */
int keeper_roll(struct db *db, const struct hw_id *gateway, int64_t now, unsigned max,
                unsigned *done, struct err *e);

/* Removes at most `max` of the rows and details that are too old. */
int keeper_expire(struct db *db, int64_t now, unsigned max, unsigned *removed, struct err *e);

/* A stored row, decoded. `detail`: with tunnels and workers, where they are still there. */
struct store_telemetry_row;
int keeper_decode(const struct store_telemetry_row *row, bool detail, struct pack_row *out,
                  struct err *e);

#endif
