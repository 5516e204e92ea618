/* Counters of firewall rules in Prometheus' text format (docs/protocols.md, "/metrics"). */
#ifndef HAWSER_CONTROLLER_API_METRICS_FIREWALL_H
#define HAWSER_CONTROLLER_API_METRICS_FIREWALL_H

#include "common/err.h"
#include "common/strbuf.h"
#include "controller/store/store.h"

int metrics_put_firewall(struct strbuf *b, struct db *db, struct err *e);

#endif
