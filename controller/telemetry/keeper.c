#include "controller/telemetry/keeper.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "controller/store/telemetry_row.h"

#define HOUR    3600ll
#define DAY     (24 * HOUR)
#define GRACE_S 30 /* a period is over when its last report had this long to come */

const struct keeper_rule keeper_rules[KEEPER_STEPS] = {
    [KEEPER_RAW] = {"raw", 0, DAY, 2 * HOUR},
    [KEEPER_MINUTE] = {"1m", 60, 7 * DAY, DAY},
    [KEEPER_QUARTER] = {"15m", 900, 30 * DAY, 7 * DAY},
    [KEEPER_HOUR] = {"1h", 3600, 400 * DAY, 0},
};

int keeper_decode(const struct store_telemetry_row *row, bool detail, struct pack_row *out,
                  struct err *e)
{
    *out = (struct pack_row){0};
    int rc = unpack_main(row->main_data, row->main_len, out, e);
    if (!rc && detail && row->detail)
        rc = unpack_detail(row->detail, row->detail_len, out, e);
    if (rc)
        pack_row_done(out);
    return rc;
}

/* A row that can't be read (a newer version's, before a downgrade) is left out: it must not stop
 * what comes after it. */
static int add_row(void *arg, const struct store_telemetry_row *row, struct err *e)
{
    struct rollup *u = arg;
    struct pack_row r;
    struct err why = {0};
    if (keeper_decode(row, true, &r, &why)) {
        log_warn_limited("rollup: %s", why.text);
        return 0;
    }
    int rc = rollup_add(u, &r, e);
    pack_row_done(&r);
    return rc;
}

static int put_rollup(struct db *db, const struct hw_id *gateway, const struct keeper_rule *rule,
                      int64_t at, const struct pack_row *row, struct err *e)
{
    size_t main_len, detail_len = 0;
    auto_free uint8_t *main_data = pack_main(row, &main_len);
    auto_free uint8_t *detail = rule->keep_detail ? pack_detail(row, &detail_len) : NULL;
    if (!main_data || (rule->keep_detail && !detail))
        return err_set(e, HW_ENOMEM, "out of memory");
    return store_telemetry_row_put(db, gateway, rule->seconds, at, main_data, main_len, detail,
                                   detail_len, e);
}

static int roll_period(struct db *db, const struct hw_id *gateway, enum keeper_step step,
                       int64_t at, struct err *e)
{
    const struct keeper_rule *rule = &keeper_rules[step];
    struct rollup u = {0};
    int rc = store_telemetry_row_each(db, gateway, keeper_rules[step - 1].seconds, at,
                                      at + rule->seconds, add_row, &u, e);
    if (!rc)
        rc = rollup_close(&u, e);
    if (!rc && u.row.reports)
        rc = put_rollup(db, gateway, rule, at, &u.row, e);
    rollup_done(&u);
    return rc;
}

/* Up to `*ready`, which becomes the time until which this step is complete now. */
static int roll_step(struct db *db, const struct hw_id *gateway, enum keeper_step step,
                     int64_t *ready, unsigned max, unsigned *done, struct err *e)
{
    int64_t seconds = keeper_rules[step].seconds, until, at, end = *ready - *ready % seconds;
    unsigned finer = keeper_rules[step - 1].seconds, n = 0;
    int rc = store_telemetry_rolled_get(db, gateway, (unsigned)seconds, &until, e);
    bool set_back = until > end + seconds + GRACE_S; /* the clock was */
    if (set_back)
        until = end;
    int64_t begin = until;
    while (!rc && until < end && n < max - *done) {
        rc = store_telemetry_row_next(db, gateway, finer, until, &at, e);
        if (rc == HW_ENOTFOUND || (!rc && at >= end)) {
            until = end;
            rc = 0;
            break;
        }
        if (rc || (rc = roll_period(db, gateway, step, at - at % seconds, e)))
            break;
        until = at - at % seconds + seconds;
        n++;
    }
    /* A gateway that is silent costs no writing. */
    if (!rc && (set_back || (n && until != begin)))
        rc = store_telemetry_rolled_set(db, gateway, (unsigned)seconds, until, e);
    *done += n;
    *ready = until;
    return rc;
}

int keeper_roll(struct db *db, const struct hw_id *gateway, int64_t now, unsigned max,
                unsigned *done, struct err *e)
{
    int64_t ready = now > GRACE_S ? now - GRACE_S : 0;
    int rc = 0;
    *done = 0;
    for (int step = KEEPER_MINUTE; !rc && step < KEEPER_STEPS; step++)
        rc = roll_step(db, gateway, (enum keeper_step)step, &ready, max, done, e);
    return rc;
}

int keeper_expire(struct db *db, int64_t now, unsigned max, unsigned *removed, struct err *e)
{
    unsigned n = 0;
    int rc = 0;
    *removed = 0;
    for (int i = 0; !rc && i < KEEPER_STEPS && *removed < max; i++) {
        const struct keeper_rule *r = &keeper_rules[i];
        rc = store_telemetry_row_expire(db, r->seconds, now - r->keep_main, max - *removed, &n, e);
        *removed += rc ? 0 : n;
        if (!rc && r->keep_detail && *removed < max) {
            rc = store_telemetry_detail_expire(db, r->seconds, now - r->keep_detail, max - *removed,
                                               &n, e);
            *removed += rc ? 0 : n;
        }
    }
    return rc;
}
