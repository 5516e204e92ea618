/*
 * The way of a config from the disk into force, and from candidate to confirmed or refused (DESIGN
 * section 4). Judging and keeping it is config_store's work, executing config_apply's, the rule of
 * confirmation confirm's; here they meet.
 */
#ifndef HAWSER_AGENT_CONTROL_CONFIG_CYCLE_H
#define HAWSER_AGENT_CONTROL_CONFIG_CYCLE_H

#include "common/err.h"
#include "common/evloop.h"
#include "common/id.h"
#include "common/model/report.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config_apply;
struct config_cycle;
struct config_store;

struct config_cycle_params {
    struct evloop *loop;
    struct config_store *store;
    struct config_apply *apply;
    struct hw_id boot; /* the machine's */
    uint64_t confirm_timeout_ns;
    /* Something that the controller should hear of soon: applied, refused, rolled back, confirmed.
     */
    void (*changed)(void *arg);
    void *arg;
};

/* Everything in the params outlives it. */
int config_cycle_new(const struct config_cycle_params *p, struct config_cycle **out, struct err *e);
void config_cycle_free(struct config_cycle *c);

/* Brings what is on disk into force: after a boot only the confirmed config; after a restart of the
 * agent alone the candidate, which is in force already and whose confirmation is then waited for
 * anew. */
void config_cycle_start(struct config_cycle *c);
/* A new candidate is on disk. */
void config_cycle_received(struct config_cycle *c);

/* An authenticated exchange with the controller has ended; `started_ns`: monotonic time at which it
 * was asked. A candidate of before a boot is now applied. */
void config_cycle_exchange(struct config_cycle *c, uint64_t started_ns);
/* An attempt at address `url` of `n_urls` ended without one; `answered`: some sign of life came. */
void config_cycle_failure(struct config_cycle *c, uint64_t started_ns, bool answered, size_t url,
                          size_t n_urls);
/* A candidate in force waits for its confirmation: ask often, and with little patience. */
bool config_cycle_waiting(const struct config_cycle *c);

void config_cycle_revisions(const struct config_cycle *c, struct report_revisions *out);

#endif
