#include "controller/telemetry/status.h"
#include "common/clock.h"
#include "common/model/report.h"
#include "controller/store/connection.h"
#include "controller/store/telemetry.h"
#include "controller/telemetry/gateway_watch.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STALE_AFTER_S         30 /* at least */
#define STALE_AFTER_INTERVALS 3

const char *status_state_name(enum status_state s)
{
    static const char *const names[] = {[STATUS_UNKNOWN] = "unknown",
                                        [STATUS_UP] = "up",
                                        [STATUS_DEGRADED] = "degraded",
                                        [STATUS_DOWN] = "down",
                                        [STATUS_DISABLED] = "disabled"};
    return names[s];
}

__attribute__((format(printf, 3, 4))) static void say(struct status *s, enum status_state state,
                                                      const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    s->state = state;
    (void)vsnprintf(s->reason, sizeof s->reason, fmt, ap);
    va_end(ap);
}

static void seen_by(struct status *s, const char *observer, int64_t at)
{
    (void)snprintf(s->observer, sizeof s->observer, "%s", observer);
    s->observed_at = at;
}

/* A report from the future was stored before the clock was set back: how old it is nobody knows.
 */
bool status_is_stale(int64_t observed_at, double interval_seconds, int64_t now_s)
{
    double limit = interval_seconds * STALE_AFTER_INTERVALS;
    double age = (double)(now_s - observed_at);
    return age > (limit > STALE_AFTER_S ? limit : STALE_AFTER_S) || age < -STALE_AFTER_S;
}

static void say_stale(struct status *s, int64_t observed_at, int64_t now_s)
{
    if (observed_at > now_s)
        say(s, STATUS_UNKNOWN, "no report since the controller's clock was set back");
    else
        say(s, STATUS_UNKNOWN, "no report for %lld s", (long long)(now_s - observed_at));
    seen_by(s, "controller", observed_at);
}

/* By what the gateway itself said last, which is fresh. */
static void judge_gateway(const struct store_telemetry *t, bool cloned, bool restless,
                          struct status *s)
{
    unsigned links = t->links_up + t->links_degraded + t->links_down;
    if (!t->dataplane_connected)
        say(s, STATUS_DOWN, "the dataplane does not run");
    else if (links && t->links_down == links)
        say(s, STATUS_DOWN, "%u of %u links are down", links, links);
    else if (cloned)
        say(s, STATUS_DEGRADED, "cloned: two machines speak with this gateway's key");
    else if (restless)
        say(s, STATUS_DEGRADED,
            "restless: its endpoints or interfaces change so often that it is planned once in %d s",
            GATEWAY_WATCH_PLAN_S);
    else if (t->links_down || t->links_degraded)
        say(s, STATUS_DEGRADED, "%u of %u links are down, %u degraded", t->links_down, links,
            t->links_degraded);
    else if (t->refused_json && strcmp(t->refused_json, "[]") != 0)
        say(s, STATUS_DEGRADED, "refuses a config: %.150s", t->refused_json);
    else if (t->problem[0])
        say(s, STATUS_DEGRADED, "%s", t->problem);
    else if (links)
        say(s, STATUS_UP, "%u of %u links are up", links, links);
    else
        say(s, STATUS_UP, "no links");
}

void status_judge_gateway(struct gateway_watch *watch, const struct store_gateway *g,
                          const struct store_telemetry *t, int64_t now_s, struct status *out)
{
    *out = (struct status){0};
    if (g->state != GATEWAY_ENROLLED) {
        say(out, g->state == GATEWAY_REVOKED ? STATUS_DOWN : STATUS_UNKNOWN, "%s",
            g->state == GATEWAY_REVOKED ? "revoked" : "not enrolled yet");
        seen_by(out, "controller", now_s);
    } else if (!t) {
        say(out, STATUS_UNKNOWN, "enrolled, but it has not reported yet");
    } else if (status_is_stale(t->observed_at, t->interval_seconds, now_s)) {
        say_stale(out, t->observed_at, now_s);
    } else {
        uint64_t now = clock_mono_ns();
        judge_gateway(t, gateway_watch_cloned(watch, &g->id, now),
                      gateway_watch_restless(watch, &g->id, now), out);
        seen_by(out, g->name, t->observed_at);
    }
}

int status_of_gateway(struct db *db, struct gateway_watch *watch, const struct store_gateway *g,
                      int64_t now_s, struct status *out, struct err *e)
{
    struct store_telemetry t = {0};
    int rc = store_telemetry_last(db, &g->id, &t, e);
    if (rc && rc != HW_ENOTFOUND)
        return rc;
    status_judge_gateway(watch, g, rc ? NULL : &t, now_s, out);
    store_telemetry_done(&t);
    return 0;
}

/* ---- links ---- */

struct view {
    struct store_link_status row;
    enum status_state state;
};

static enum status_state state_of(const char *reported)
{
    if (strcmp(reported, "up") == 0)
        return STATUS_UP;
    if (strcmp(reported, "degraded") == 0)
        return STATUS_DEGRADED;
    return strcmp(reported, "disabled") == 0 ? STATUS_DISABLED : STATUS_DOWN;
}

/* The ends' reports that are fresh, end a first; *newest is the time of the last one of any age. */
static size_t fresh_views(const struct store_link *l, const struct store_link_status *rows,
                          size_t n_rows, int64_t now_s, struct view out[2], int64_t *newest)
{
    bool turned = n_rows == 2 && id_equal(&rows[0].gateway_id, &l->gateway_b_id);
    size_t n = 0;
    *newest = 0;
    for (size_t i = 0; i < n_rows; i++) {
        const struct store_link_status *row = &rows[turned ? 1 - i : i];
        if (row->observed_at > *newest)
            *newest = row->observed_at;
        if (!status_is_stale(row->observed_at, row->interval_seconds, now_s))
            out[n++] = (struct view){.row = *row, .state = state_of(row->state)};
    }
    return n;
}

/* The worse end decides: a link that carries only one way is not up. */
static void judge_link(const struct view *v, size_t n, struct status *s)
{
    static const int badness[] = {[STATUS_UP] = 0,
                                  [STATUS_DEGRADED] = 1,
                                  [STATUS_DISABLED] = 2,
                                  [STATUS_DOWN] = 3,
                                  [STATUS_UNKNOWN] = 0};
    const struct view *worst = &v[0];
    if (n == 2 && badness[v[1].state] > badness[v[0].state])
        worst = &v[1];
    if (worst->row.reason[0])
        say(s, worst->state, "%s", worst->row.reason);
    else
        say(s, worst->state, "%u of %u tunnels are up", worst->row.tunnels_up,
            worst->row.tunnels_total);
    seen_by(s, v[0].row.gateway, v[0].row.observed_at);
    s->tunnels_up = v[0].row.tunnels_up;
    s->tunnels_total = v[0].row.tunnels_total;
    if (n == 1)
        return;
    (void)snprintf(s->observer, sizeof s->observer, "%.30s, %.30s", v[0].row.gateway,
                   v[1].row.gateway);
    if (v[1].row.observed_at < s->observed_at)
        s->observed_at = v[1].row.observed_at;
    if (v[1].row.tunnels_up < s->tunnels_up)
        s->tunnels_up = v[1].row.tunnels_up;
}

static double larger_known(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

/* A rate is that of the end that sends; of one that is silent, what the other receives. */
static void measure_link(const struct store_link *l, const struct view *v, size_t n,
                         struct status *s)
{
    double receives[2] = {NAN, NAN}, sends[2] = {NAN, NAN}; /* at a, b */
    s->suite = v[0].row.suite;
    for (size_t i = 0; i < n; i++) {
        const struct store_link_status *row = &v[i].row;
        int end = id_equal(&row->gateway_id, &l->gateway_a_id) ? 0 : 1;
        sends[end] = row->tx_bps;
        receives[end] = row->rx_bps;
        s->rtt_us = larger_known(s->rtt_us, row->rtt_us);
        s->loss_ratio = larger_known(s->loss_ratio, row->loss_ratio);
        if (row->mtu && (!s->mtu || row->mtu < s->mtu))
            s->mtu = row->mtu;
        if (row->suite != s->suite)
            s->suite = 0;
    }
    s->ab_bps = isnan(sends[0]) ? receives[1] : sends[0];
    s->ba_bps = isnan(sends[1]) ? receives[0] : sends[1];
}

/* True when the controller knows the answer without asking the ends. */
static bool judge_intent(const struct store_link *l, bool connection_enabled, struct status *s)
{
    if (!l->enabled || !connection_enabled)
        say(s, STATUS_DISABLED, "%s", l->enabled ? "the connection is disabled" : "disabled");
    else if (l->refusal[0])
        say(s, STATUS_DOWN, "%s", l->refusal);
    else if (l->address_a.family == 0)
        say(s, STATUS_UNKNOWN, "a gateway of it is not enrolled yet");
    else
        return false;
    return true;
}

void status_judge_link(const struct store_link *l, bool connection_enabled,
                       const struct store_link_status *ends, size_t n_ends, int64_t now_s,
                       struct status *out)
{
    struct view views[2];
    int64_t newest;
    *out = (struct status){.tunnels_total = l->tunnels,
                           .ab_bps = NAN,
                           .ba_bps = NAN,
                           .rtt_us = NAN,
                           .loss_ratio = NAN};
    if (judge_intent(l, connection_enabled, out)) {
        seen_by(out, "controller", now_s);
        return;
    }
    size_t n = fresh_views(l, ends, n_ends, now_s, views, &newest);
    if (n) {
        judge_link(views, n, out);
        measure_link(l, views, n, out);
    } else if (newest) {
        say_stale(out, newest, now_s);
    } else {
        say(out, STATUS_UNKNOWN, "neither end has reported yet");
    }
}

int status_of_link(struct db *db, const struct store_link *l, int64_t now_s, struct status *out,
                   struct err *e)
{
    struct store_connection c = {.enabled = true};
    struct store_link_status ends[2];
    size_t n = 0;
    int rc = id_is_zero(&l->connection_id) ? 0 : store_connection_get(db, &l->connection_id, &c, e);
    if (!rc)
        rc = store_link_status_get(db, &l->id, ends, &n, e);
    if (!rc)
        status_judge_link(l, c.enabled, ends, n, now_s, out);
    return rc;
}
