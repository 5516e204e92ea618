/* Packed rows of telemetry and their rollups: bytes in, bytes out; what they mean is
 * controller/telemetry's. */
#ifndef HAWSER_CONTROLLER_STORE_TELEMETRY_ROW_H
#define HAWSER_CONTROLLER_STORE_TELEMETRY_ROW_H

#include "common/id.h"
#include "controller/store/store.h"

/* `step`: seconds of a rollup, 0: a report. Replaces a row of the same second or period. Of a
 * gateway that exists. */
int store_telemetry_row_put(struct db *db, const struct hw_id *gateway, unsigned step, int64_t at,
                            const void *main_data, size_t main_len, const void *detail,
                            size_t detail_len, struct err *e);

struct store_telemetry_row {
    int64_t at;
    const uint8_t *main_data, *detail; /* valid during the call; detail may be NULL */
    size_t main_len, detail_len;
};
typedef int (*store_telemetry_row_fn)(void *arg, const struct store_telemetry_row *row,
                                      struct err *e);
/* Calls fn for each row with from <= at < to, rising, until it fails. */
int store_telemetry_row_each(struct db *db, const struct hw_id *gateway, unsigned step,
                             int64_t from, int64_t to, store_telemetry_row_fn fn, void *arg,
                             struct err *e);
/* Only when they were: the index alone is read. */
int store_telemetry_row_times(struct db *db, const struct hw_id *gateway, unsigned step,
                              int64_t from, int64_t to,
                              int (*fn)(void *arg, int64_t at, struct err *e), void *arg,
                              struct err *e);
/* The newest report's row, of any age; fn isn't called when there is none. */
int store_telemetry_row_newest(struct db *db, const struct hw_id *gateway,
                               store_telemetry_row_fn fn, void *arg, struct err *e);
/* The first row at or after `from`; HW_ENOTFOUND. */
int store_telemetry_row_next(struct db *db, const struct hw_id *gateway, unsigned step,
                             int64_t from, int64_t *at, struct err *e);

/* End of the last period that was rolled up; 0: none yet. */
int store_telemetry_rolled_get(struct db *db, const struct hw_id *gateway, unsigned step,
                               int64_t *until, struct err *e);
int store_telemetry_rolled_set(struct db *db, const struct hw_id *gateway, unsigned step,
                               int64_t until, struct err *e);

/* Removes at most `max` rows, or only their detail, that are older than `cutoff`. */
int store_telemetry_row_expire(struct db *db, unsigned step, int64_t cutoff, unsigned max,
                               unsigned *removed, struct err *e);
int store_telemetry_detail_expire(struct db *db, unsigned step, int64_t cutoff, unsigned max,
                                  unsigned *removed, struct err *e);

#endif
