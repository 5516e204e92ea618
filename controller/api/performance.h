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

/* Figures of the sizes met so far, where many gateways are looked at. Zeroed at first. */
struct performance_memo {
    struct performance_size {
        struct performance_size *next;
        char provider[SIZE_PROVIDER_MAX], size[sizeof((struct store_gateway *)0)->size];
        struct store_figure *figures;
        size_t n;
    } * sizes;
};
/* `provider`: of the gateway's site. */
int performance_among(struct db *db, struct performance_memo *memo, const char *provider,
                      const struct store_gateway *g, const struct store_telemetry *t,
                      struct performance *out, struct err *e);
void performance_memo_done(struct performance_memo *memo);

/* The member "performance". */
void performance_put(struct json_writer *w, const struct performance *p);

#endif
