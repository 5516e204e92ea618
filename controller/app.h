/* The running controller: the root that owns its modules. */
#ifndef HAWSER_CONTROLLER_APP_H
#define HAWSER_CONTROLLER_APP_H

#include "controller/settings.h"
#include <stdatomic.h>

struct store;
struct ca;
struct hub;
struct http_server;
struct ratelimit;
struct refusals;
struct gateway_watch;
struct static_files;

struct app {
    struct settings settings;
    struct store *store;
    struct ca *ca;
    struct hub *hub;
    struct http_server *server;
    struct gateway_watch *watch;     /* telemetry/gateway_watch.h: cloned and restless machines */
    struct static_files *console;    /* NULL: no console installed */
    struct ratelimit *auth_limit;    /* failed authentications by client address */
    struct refusals *refusals;       /* audit/refusals.h */
    _Atomic bool stopping;           /* set once; readyz says so */
    struct counters_table *counters; /* telemetry/counters.h: of each gateway's last report */
};

/* Opens everything and starts the listeners; what stands in app->settings must be complete. */
int app_start(struct app *app, struct err *e);
/* The listeners' certificates from their files, those that the gateway CA signs renewed when it is
 * time. */
int app_renew_certificates(struct app *app, struct err *e);
/* Path of a file in the state directory. */
void app_path(const struct app *app, const char *name, char out[PATH_MAX]);
/* The reverse, in order: listeners first. */
void app_stop(struct app *app);

#endif
