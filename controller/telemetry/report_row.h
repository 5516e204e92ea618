/* One report becomes one row. Pure. */
#ifndef HAWSER_CONTROLLER_TELEMETRY_REPORT_ROW_H
#define HAWSER_CONTROLLER_TELEMETRY_REPORT_ROW_H

#include "common/model/report.h"
#include "controller/telemetry/counters.h"
#include "controller/telemetry/pack.h"

/* `before`: the counters of the report before; NULL: unknown, and nothing counts as added. Of the
 * report's links only those for which own(arg, id) is true. */
int report_row_make(const struct report *r, const struct counters *before,
                    bool (*own)(const void *arg, const struct hw_id *link), const void *arg,
                    struct pack_row *out, struct err *e);

#endif
