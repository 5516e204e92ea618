/* What a gateway moves now against what was published for its size. */
#ifndef HAWSER_CONTROLLER_API_PERFORMANCE_H
#define HAWSER_CONTROLLER_API_PERFORMANCE_H

#include "common/json.h"
#include "controller/store/gateway.h"
#include "controller/store/size.h"
#include "controller/store/telemetry.h"

struct performance {
    bool known; /* a figure of its size compares */
    struct store_figure figure;
    double live_bps; /* larger direction of the last report; NaN: it is old, or there is none */
    double ratio;    /* of both; NaN: not known */
};

/* `t`: the gateway's last report, NULL or never observed: none. */
int performance_of(struct db *db, const struct store_gateway *g, const struct store_telemetry *t,
                   struct performance *out, struct err *e);
/* The member "performance". */
void performance_put(struct json_writer *w, const struct performance *p);

#endif
