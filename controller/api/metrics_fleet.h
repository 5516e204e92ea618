/* What gateways, links, tunnels and workers last reported, in Prometheus' text format
 * (docs/protocols.md, "/metrics"). */
#ifndef HAWSER_CONTROLLER_API_METRICS_FLEET_H
#define HAWSER_CONTROLLER_API_METRICS_FLEET_H

#include "common/err.h"
#include "common/strbuf.h"
#include "controller/app.h"
#include "controller/store/store.h"

int metrics_put_fleet(struct strbuf *b, struct app *app, struct db *db, struct err *e);

#endif
