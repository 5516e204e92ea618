/* The metrics of GET /api/v1/telemetry: which kind of object has which, and where they stand in a
 * row (docs/protocols.md, "Metrics of the API"). */
#ifndef HAWSER_CONTROLLER_TELEMETRY_METRIC_H
#define HAWSER_CONTROLLER_TELEMETRY_METRIC_H

#include "controller/telemetry/pack.h"

enum metric_kind { METRIC_GATEWAY, METRIC_LINK, METRIC_TUNNEL, METRIC_WORKER, METRIC_KINDS };

struct metric_object {
    enum metric_kind kind;
    struct hw_id id; /* of the gateway, or the link */
    unsigned number; /* of the tunnel or worker */
};

struct metric {
    enum metric_kind kind;
    const char *name, *unit;
    enum { METRIC_GAUGE, METRIC_COUNTER, METRIC_OTHER } form;
    unsigned index; /* of the gauge or counter of its kind; METRIC_OTHER: metric.c's own */
    double scale;
};

/* NULL: no such metric of this kind of object. */
const struct metric *metric_find(enum metric_kind kind, const char *name);
bool metric_exists(const char *name);

struct metric_value {
    double avg, min, max; /* NaN: not known */
};
/* Of the object as it stands in the row; not known when it doesn't. Tunnels and workers need the
 * row's detail. */
struct metric_value metric_value(const struct metric *m, const struct metric_object *o,
                                 const struct pack_row *row);

#endif
