/* The firewall's part of a gateway's report, into the store. */
#ifndef HAWSER_CONTROLLER_FIREWALL_INGEST_H
#define HAWSER_CONTROLLER_FIREWALL_INGEST_H

#include "common/model/report.h"
#include "controller/store/store.h"

/* Nothing to do for a gateway without a ruleset. */
int firewall_ingest(struct db *db, const struct hw_id *gateway, const struct report *r,
                    struct err *e);

#endif
