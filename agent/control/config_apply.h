/*
 * Brings a config into force: plans the difference to what is in force, executes it all or nothing,
 * and keeps the kernel (hawser0, table 18551, rules, sysctls) and the dataplane at it. Idempotent:
 * after an agent restart the same config is applied against the kernel's and the dataplane's real
 * state and touches only what differs.
 */
#ifndef HAWSER_AGENT_CONTROL_CONFIG_APPLY_H
#define HAWSER_AGENT_CONTROL_CONFIG_APPLY_H

#include "common/err.h"
#include "common/evloop.h"
#include "common/id.h"
#include "common/model/gateway_config.h"
#include <stdbool.h>
#include <stdint.h>

struct agent_settings;
struct config_apply;
struct dp_client;
struct keying;

/* The outcome of one config_apply_start; `why` is NULL on success. After a failure the config that
 * was in force before is in force again. */
typedef void (*config_apply_fn)(void *arg, uint64_t revision, const struct err *why);

int config_apply_new(struct evloop *loop, const struct agent_settings *settings,
                     struct dp_client *dp, struct keying *keying, struct config_apply **out,
                     struct err *e);
void config_apply_free(struct config_apply *a);

/* Applies a config, which the caller keeps alive until another one is in force. Without a dataplane
 * the kernel part is done at once and the rest as soon as a dataplane says hello: `done` then comes
 * right after the kernel part. */
void config_apply_start(struct config_apply *a, const struct gateway_config *config,
                        uint64_t revision, config_apply_fn done, void *arg);
/* NULL and 0 when nothing is in force. */
const struct gateway_config *config_apply_current(const struct config_apply *a, uint64_t *revision);

/* The peer's inner MTU of a link, as its OFFER or ACCEPT said: the smaller of both ends rules. From
 * keying. */
void config_apply_peer_mtu(struct config_apply *a, const struct hw_id *link, unsigned peer_mtu);
/* Inner MTU of a link in force: the smaller of both ends; 0 for an unknown link. */
unsigned config_apply_link_mtu(const struct config_apply *a, const struct hw_id *link);

/* Takes everything down: TUN, rules, routes, sysctls back to what they were (`--purge`). */
int config_apply_purge(const struct agent_settings *settings, struct err *e);

#endif
