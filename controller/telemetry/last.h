/* The last report of a gateway, decoded, with the row that was made of it. */
#ifndef HAWSER_CONTROLLER_TELEMETRY_LAST_H
#define HAWSER_CONTROLLER_TELEMETRY_LAST_H

#include "common/model/report.h"
#include "controller/store/store.h"
#include "controller/telemetry/pack.h"

struct last {
    int64_t observed_at;
    bool stale; /* too old to say how things are */
    struct report report;
    struct pack_row row; /* without anything when it is gone */
};
void last_done(struct last *l);

/* HW_ENOTFOUND: it has not reported. */
int last_read(struct db *db, const struct hw_id *gateway, struct last *out, struct err *e);

/* NULL: none. */
const struct report_link *last_link(const struct last *l, const struct hw_id *link);
const struct pack_tunnel *last_tunnel(const struct last *l, const struct hw_id *link,
                                      unsigned number);

#endif
