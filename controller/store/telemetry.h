/* What agents reported last, of each gateway and link; what was before is in telemetry_row.h. */
#ifndef HAWSER_CONTROLLER_STORE_TELEMETRY_H
#define HAWSER_CONTROLLER_STORE_TELEMETRY_H

#include "common/id.h"
#include "common/limits.h"
#include "controller/store/store.h"

struct store_telemetry {
    struct hw_id gateway_id;
    int64_t observed_at; /* controller's time of arrival, seconds */
    uint64_t received, applied, in_force;
    char *refused_json; /* array of {revision, reason}; owned */
    uint64_t denials_revision;
    double interval_seconds; /* of the reports */
    double goodput_tx_bps, goodput_rx_bps, wire_tx_bps, wire_rx_bps;
    unsigned links_up, links_degraded, links_down; /* of the enabled ones */
    bool dataplane_connected;
    double busy_ratio;             /* of the hottest worker; NaN: not known */
    char problem[HW_TEXT_MAX + 1]; /* the first that the gateway tells of; "" */
    const char *report_json; /* the whole report as validated; only written, store_telemetry_report
                                reads it */
};
void store_telemetry_done(struct store_telemetry *t);

/* How one end of a link sees it. */
struct store_link_status {
    struct hw_id link_id, gateway_id;
    int64_t observed_at;
    char state[16]; /* "up" "degraded" "down" "disabled" "no_keys" */
    char reason[HW_TEXT_MAX + 1];
    unsigned tunnels_up, tunnels_total;
    unsigned suite; /* enum esp_suite_id, 0: none */
    uint32_t mtu;   /* 0: not known */
    double tx_bps, rx_bps;
    double rtt_us, loss_ratio; /* NaN: not known */
    /* only read: */
    char gateway[HW_NAME_MAX + 1];
    double interval_seconds; /* of that gateway's reports */
};

/* Replaces the last values. A gateway that is gone is HW_ENOTFOUND. */
int store_telemetry_put(struct db *db, const struct store_telemetry *t, struct err *e);
int store_telemetry_last(struct db *db, const struct hw_id *gateway_id, struct store_telemetry *out,
                         struct err *e);
/* Of all gateways that ever reported, by their ids. */
int store_telemetry_all(struct db *db, struct store_telemetry **out, size_t *n, struct err *e);
void store_telemetry_free(struct store_telemetry *rows, size_t n);
/* *json is malloc'ed. */
int store_telemetry_report(struct db *db, const struct hw_id *gateway_id, char **json,
                           struct err *e);
/* The next gateway after this one, by id, that ever reported; HW_ENOTFOUND after the last. */
int store_telemetry_next_gateway(struct db *db, const struct hw_id *after, struct hw_id *out,
                                 struct err *e);
/* Replaces; links that don't exist (any more) are skipped. */
int store_link_status_put(struct db *db, const struct store_link_status *s, struct err *e);
/* Up to two rows, one an end. */
int store_link_status_get(struct db *db, const struct hw_id *link_id,
                          struct store_link_status out[2], size_t *n, struct err *e);
/* Of all links, by their ids; free() the array. */
int store_link_status_all(struct db *db, struct store_link_status **out, size_t *n, struct err *e);

#endif
