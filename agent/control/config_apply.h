/*
 * Brings a config into force and keeps it there: plans the difference between what the kernel and
 * the dataplane have and what the config says, executes it all or nothing, and does so again
 * whenever something changed underneath (a new dataplane, a route that somebody deleted, another
 * interface MTU). Idempotent: after an agent restart only what differs is touched.
 */
#ifndef HAWSER_AGENT_CONTROL_CONFIG_APPLY_H
#define HAWSER_AGENT_CONTROL_CONFIG_APPLY_H

#include "agent/control/config_store.h"
#include "agent/control/dp_client.h"
#include "common/err.h"
#include "common/evloop.h"
#include "common/id.h"
#include "common/model/firewall.h"
#include <stdbool.h>
#include <stdint.h>

struct agent_settings;
struct config_apply;
struct keying;

/* The outcome of one config_apply_start; `why` is NULL on success. After a failure the config that
 * was in force before is in force again. */
typedef void (*config_apply_fn)(void *arg, uint64_t revision, const struct err *why);

/* Everything here outlives it. */
struct config_apply_params {
    struct evloop *loop;
    const struct agent_settings *settings;
    struct hw_id boot; /* the machine's */
    struct dp_client *dp;
    struct keying *keying;
};

int config_apply_new(const struct config_apply_params *p, struct config_apply **out, struct err *e);
/* From here on completions of the dataplane are ignored: keying and dp_client may be freed, and
 * after them this. */
void config_apply_stop(struct config_apply *a);
void config_apply_free(struct config_apply *a);

/* Applies a config (keeps a reference). Without a dataplane the kernel's part is done at once, and
 * the rest as soon as a dataplane says hello. HW_EAGAIN while another one is under way. `done` may
 * come from inside. */
int config_apply_start(struct config_apply *a, struct stored_config *config, config_apply_fn done,
                       void *arg, struct err *e);
/* NULL when nothing is in force. */
const struct stored_config *config_apply_current(const struct config_apply *a);

/* Events that the owner passes on. */
void config_apply_dp_connected(struct config_apply *a, bool new_boot);
void config_apply_dp_lost(struct config_apply *a);
/* The peer's inner MTU of a link, as its OFFER or ACCEPT said: the smaller of both ends rules. */
void config_apply_peer_mtu(struct config_apply *a, const struct hw_id *link, uint32_t peer_mtu);

/* A peer's announcement of what goes on from it towards a prefix; and a new keying connection of a
 * link, on which both ends say theirs again. From keying. */
void config_apply_onward(struct config_apply *a, const struct hw_id *link, const struct prefix *p,
                         uint32_t mtu);
void config_apply_link_connection(struct config_apply *a, const struct hw_id *link, uint64_t epoch);

/* Inner MTU of a link: the smaller of both ends; 0 for an unknown link. */
uint32_t config_apply_link_mtu(const struct config_apply *a, const struct hw_id *link);
/* The ruleset's part of a report, after a look at the counters; and that the controller has it. */
void config_apply_firewall_report(struct config_apply *a, struct firewall_report *r);
void config_apply_firewall_told(struct config_apply *a);
/* What keeps the config from being wholly in force, for status and report; "" when nothing does. */
const char *config_apply_problem(const struct config_apply *a);

#endif
