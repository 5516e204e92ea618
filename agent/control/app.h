/* The agent's root: owns every module and the one event loop they live on. */
#ifndef HAWSER_AGENT_CONTROL_APP_H
#define HAWSER_AGENT_CONTROL_APP_H

#include "agent/control/settings.h"
#include "common/err.h"
#include "common/id.h"
#include <stdbool.h>

struct agent_clock;
struct cloud;
struct commands;
struct config_apply;
struct config_cycle;
struct config_store;
struct controller_link;
struct ctl;
struct denials_store;
struct dp_client;
struct enrol;
struct ev_timer;
struct evloop;
struct identity;
struct keying;
struct status;
struct telemetry;

/* Modules are made in this order; one may use those above it. */
struct app {
    const struct agent_settings *settings;
    int state_fd;      /* holds the lock on the state directory; −1: none */
    struct hw_id boot; /* the machine's */
    struct evloop *loop;
    struct agent_clock *clock;
    struct cloud *cloud;
    struct identity *identity;
    struct dp_client *dp;
    struct keying *keying;
    struct config_apply *apply;
    struct telemetry *telemetry;
    struct status *status;
    struct ctl *ctl;
    /* only while not enrolled */
    struct enrol *enrol;
    struct ev_timer *enrol_timer;
    bool awaits_cloud; /* the reading under way decides how it goes on */
    char enrol_error[ERR_TEXT_MAX];
    /* NULL until enrolled */
    struct denials_store *denials;
    struct config_store *store;
    struct config_cycle *cycle;
    struct controller_link *link;
    struct commands *commands;

    struct ev_timer *tick; /* each second: watchdog, still workers, a look at the counters */
};

/* Runs the service until SIGTERM or SIGINT. Tunnels stay up afterwards. */
int app_run(const struct agent_settings *settings, struct err *e);

/* Takes everything down: the dataplane's SAs, rules, routes, hawser0, and puts the sysctls back. */
int app_purge(const struct agent_settings *settings, struct err *e);

#endif
