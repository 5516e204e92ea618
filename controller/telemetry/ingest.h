/* What a gateway says about itself, into the store. */
#ifndef HAWSER_CONTROLLER_TELEMETRY_INGEST_H
#define HAWSER_CONTROLLER_TELEMETRY_INGEST_H

#include "common/err.h"
#include "common/model/node.h"
#include "common/model/report.h"
#include "controller/store/gateway.h"
#include "controller/store/store.h"
#include <stdbool.h>

/* Takes interfaces, and endpoints unless an operator has set them, into the row (not yet into the
 * store). *changed tells whether the row differs now. */
int ingest_node(const struct node *node, struct store_gateway *g, bool *changed, struct err *e);

/* The same for all of a report that the row keeps. *replan: something that planning depends on is
 * different. */
int ingest_identity(const struct report *r, struct store_gateway *g, bool *changed, bool *replan,
                    struct err *e);

/* Bytes of a report, and of each of the gateway's links in it (50 tunnels with long counters). */
#define REPORT_BASE_MAX (160u << 10)
#define REPORT_LINK_MAX (28u << 10)

/* Last values, one packed row, and this gateway's view of its links. `json` is the report as it
 * came, already decoded and so known to be well-formed. HW_ETOOBIG when it is longer than all that
 * this gateway can have to say. `table` holds the counters of the report before; those of this one
 * are *next, to be put there once the transaction is over (nothing, when it failed: the store's
 * last report is read then). */
struct counters;
struct counters_table;
int ingest_telemetry(struct db *db, const struct hw_id *gateway, const struct report *r,
                     const char *json, struct counters_table *table, struct counters **next,
                     struct err *e);

#endif
