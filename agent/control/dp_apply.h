/*
 * The dataplane's part of applying a plan: sends the requests of one plan (and the TUN queues) and
 * waits until each is acknowledged. One round at a time.
 */
#ifndef HAWSER_AGENT_CONTROL_DP_APPLY_H
#define HAWSER_AGENT_CONTROL_DP_APPLY_H

#include "agent/control/config_plan.h"
#include "agent/control/dp_client.h"
#include "agent/control/tun_create.h"

struct dp_apply;

/* All requests are answered. status 0; HW_ECLOSED when the dataplane went away; otherwise the first
 * refusal. */
typedef void (*dp_apply_fn)(void *arg, int status, const struct err *why);

int dp_apply_new(struct dp_client *dp, dp_apply_fn done, void *arg, struct dp_apply **out,
                 struct err *e);
/* The dp_client must be gone by then, or idle: its completions point here. */
void dp_apply_free(struct dp_apply *d);

/* Starts a round. */
void dp_apply_begin(struct dp_apply *d);
/* Hands one queue after the other to the dataplane. */
void dp_apply_tun(struct dp_apply *d, const struct tun_queues *q, unsigned mtu);
/* Sends a dataplane step. */
void dp_apply_step(struct dp_apply *d, const struct plan_step *step,
                   const struct gateway_state *found, const struct gateway_state *want);
/* Ends the round's list. True when nothing is outstanding; then *status is the outcome and `done`
 * is not called. Otherwise `done` comes later. */
bool dp_apply_end(struct dp_apply *d, int *status, struct err *why);

/* What a dump says, in the form of a plan's `found`; the kernel's fields are left alone. */
int dp_apply_found(const struct dp_dump *dump, struct gateway_state *s, struct err *e);

#endif
