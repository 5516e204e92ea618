/* The agent's root: owns every module and the one event loop they live on. */
#ifndef HAWSER_AGENT_CONTROL_APP_H
#define HAWSER_AGENT_CONTROL_APP_H

#include "agent/control/settings.h"
#include "common/err.h"

struct agent_clock;
struct config_apply;
struct config_store;
struct controller_link;
struct ctl;
struct denials;
struct dp_client;
struct evloop;
struct identity;
struct keying;
struct telemetry;

/* Modules are made in this order and freed in reverse; one may use those above it. */
struct app {
    struct agent_settings settings;
    struct evloop *loop;
    struct agent_clock *clock;
    struct identity *identity;
    struct denials *denials;
    struct dp_client *dp;
    struct keying *keying;
    struct config_store *store; /* NULL until enrolled */
    struct config_apply *apply;
    struct telemetry *telemetry;
    struct controller_link *link;
    struct ctl *ctl;
};

/* Runs the service until SIGTERM or SIGINT. Tunnels stay up afterwards. */
int app_run(const struct agent_settings *settings, struct err *e);

#endif
