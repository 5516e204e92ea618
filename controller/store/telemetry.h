/* What agents report: the last values of each gateway and link, and one table of history, one row a
 * report. */
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
    char *report_json; /* the whole report as validated; owned */
};
void store_telemetry_done(struct store_telemetry *t);

/* How one end of a link sees it. */
struct store_link_status {
    struct hw_id link_id, gateway_id;
    int64_t observed_at;
    char state[16]; /* "up" "degraded" "down" "disabled" "no_keys" */
    char reason[HW_TEXT_MAX + 1];
    unsigned tunnels_up, tunnels_total;
};

/* Replaces the last values and appends the history row, which takes the place of one of the same
 * second. A gateway that is gone is HW_ENOTFOUND. */
int store_telemetry_put(struct db *db, const struct store_telemetry *t, struct err *e);
int store_telemetry_last(struct db *db, const struct hw_id *gateway_id, struct store_telemetry *out,
                         struct err *e);
/* Replaces; links that don't exist (any more) are skipped. */
int store_link_status_put(struct db *db, const struct store_link_status *s, struct err *e);
/* Up to two rows, one an end. */
int store_link_status_get(struct db *db, const struct hw_id *link_id,
                          struct store_link_status out[2], size_t *n, struct err *e);

/* History of a gateway, newest first; `before`: row id of the last one of the page before, 0 from
 * the newest. Ends early with the row by which the reports are longer than max_bytes together. */
struct store_history_row {
    int64_t row_id;
    int64_t observed_at;
    char *report_json; /* owned */
};
void store_history_free(struct store_history_row *rows, size_t n);
int store_history_list(struct db *db, const struct hw_id *gateway_id, int64_t before,
                       unsigned limit, size_t max_bytes, struct store_history_row **out, size_t *n,
                       struct err *e);
/* Removes at most `max` rows older than `cutoff` (seconds); *removed tells how many. */
int store_history_expire(struct db *db, int64_t cutoff, unsigned max, unsigned *removed,
                         struct err *e);

#endif
