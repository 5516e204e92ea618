/*
 * Status from what was reported, who saw it and when. Nothing is green from memory: a report older
 * than three intervals (at least 30 s) makes everything that it said `unknown`.
 */
#ifndef HAWSER_CONTROLLER_TELEMETRY_STATUS_H
#define HAWSER_CONTROLLER_TELEMETRY_STATUS_H

#include "common/limits.h"
#include "controller/store/gateway.h"
#include "controller/store/link.h"
#include "controller/store/store.h"

enum status_state { STATUS_UNKNOWN, STATUS_UP, STATUS_DEGRADED, STATUS_DOWN, STATUS_DISABLED };

struct gateway_watch;
struct store_link_status;
struct store_telemetry;

struct status {
    enum status_state state;
    char reason[HW_TEXT_MAX + 1];
    char observer[HW_NAME_MAX + 1]; /* "controller", or the gateway's name, of a link "gw-a1,
                                       gw-t1"; "" when nobody saw it */
    int64_t observed_at;            /* seconds since 1970; 0: never */
    /* of a link: */
    unsigned tunnels_up, tunnels_total; /* the smaller number of both ends */
    unsigned suite; /* enum esp_suite_id by which both send; 0: not known, or they differ */
    uint32_t mtu;   /* the smaller; 0: not known */
    double ab_bps, ba_bps, rtt_us,
        loss_ratio; /* as gateway a sends, b sends; worse of both ends; NaN: not known */
};

const char *
status_state_name(enum status_state s); /* "unknown" "up" "degraded" "down" "disabled" */

/* Is a report that came in at observed_at too old to say anything? */
bool status_is_stale(int64_t observed_at, double interval_seconds, int64_t now_s);

/* By what was read of many at once. `t`: the gateway's last report, NULL: none. `ends`: up to two.
 */
void status_judge_gateway(struct gateway_watch *watch, const struct store_gateway *g,
                          const struct store_telemetry *t, int64_t now_s, struct status *out);
void status_judge_link(const struct store_link *l, bool connection_enabled,
                       const struct store_link_status *ends, size_t n_ends, int64_t now_s,
                       struct status *out);

int status_of_gateway(struct db *db, struct gateway_watch *watch, const struct store_gateway *g,
                      int64_t now_s, struct status *out, struct err *e);
int status_of_link(struct db *db, const struct store_link *l, int64_t now_s, struct status *out,
                   struct err *e);

#endif
