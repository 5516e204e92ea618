#include "controller/api/policy_condition.h"
#include "common/dp_proto.h"
#include "common/esp_suite.h"
#include "controller/store/gateway.h"
#include "controller/telemetry/last.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define MINUTE_S 60
#define HOUR_S   3600
#define DAY_S    86400

size_t policy_characters(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

__attribute__((format(printf, 4, 5))) static void
judge(struct policy_condition *c, const char *code, bool met, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    *c = (struct policy_condition){.code = code, .met = met};
    (void)vsnprintf(c->detail, sizeof c->detail, fmt, ap);
    va_end(ap);
}

static void judge_site(struct policy_condition *c, const char *code, const struct store_site *s)
{
    judge(c, code, s->trusted_underlay, "site %s %s trusted_underlay", s->name,
          s->trusted_underlay ? "has" : "does not have");
}

static void judge_reason(struct policy_condition *c, const char *reason)
{
    size_t n = policy_characters(reason);
    if (n >= POLICY_REASON_MIN)
        judge(c, "reason-given", true, "a reason is given");
    else if (n)
        judge(c, "reason-given", false, "the reason has %zu character%s; at least %d", n,
              n == 1 ? "" : "s", POLICY_REASON_MIN);
    else
        judge(c, "reason-given", false, "no reason is given");
    c->field = c->met ? NULL : "reason";
}

/* "6 days", "3 hours", "20 s": rounded down. */
static void duration_text(int64_t s, char out[32])
{
    static const struct {
        int64_t unit;
        const char *name;
    } units[] = {{DAY_S, "day"}, {HOUR_S, "hour"}, {MINUTE_S, "minute"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (s >= units[i].unit) {
            long long n = s / units[i].unit;
            (void)snprintf(out, 32, "%lld %s%s", n, units[i].name, n == 1 ? "" : "s");
            return;
        }
    (void)snprintf(out, 32, "%lld s", (long long)s);
}

static void judge_end(struct policy_condition *c, int64_t ends_at, int64_t now)
{
    char text[32];
    int64_t ahead = ends_at - now, most = (int64_t)POLICY_DAYS_MAX * DAY_S;
    if (!ends_at)
        judge(c, "end-date", false, "no end is given");
    else if (ahead <= 0)
        judge(c, "end-date", false, "the end is not in the future");
    else if (ahead > most && ahead < most + DAY_S)
        judge(c, "end-date", false, "more than %d days ahead", POLICY_DAYS_MAX);
    else if (ahead > most)
        judge(c, "end-date", false, "%lld days ahead; at most %d", (long long)(ahead / DAY_S),
              POLICY_DAYS_MAX);
    else {
        duration_text(ahead, text);
        judge(c, "end-date", true, "ends in %s", text);
    }
    c->field = c->met ? NULL : "ends_at";
}

void policy_judge(const struct policy_question *q, struct policy_condition out[POLICY_CONDITIONS])
{
    judge_site(&out[0], "site-a-trusted", q->site_a);
    judge_site(&out[1], "site-b-trusted", q->site_b);
    if (q->connection->path_resiliency)
        judge(&out[2], "path-resiliency", true,
              "each link has at least 2 tunnels on distinct ports");
    else
        judge(&out[2], "path-resiliency", false,
              "connection %s does not have path_resiliency: at least 2 tunnels on distinct ports "
              "in each link",
              q->connection->name);
    judge_reason(&out[3], q->reason);
    judge_end(&out[4], q->ends_at, q->now);
}

unsigned policy_unmet(const struct policy_condition list[POLICY_CONDITIONS])
{
    unsigned n = 0;
    for (unsigned i = 0; i < POLICY_CONDITIONS; i++)
        n += !list[i].met;
    return n;
}

void policy_put_conditions(struct json_writer *w, const struct policy_condition *list,
                           bool unmet_alone)
{
    json_open_array(w, "conditions");
    for (unsigned i = 0; i < POLICY_CONDITIONS; i++) {
        if (unmet_alone && list[i].met)
            continue;
        json_open_object(w, NULL);
        json_put_str(w, "code", list[i].code);
        json_put_bool(w, "met", list[i].met);
        json_put_str(w, "detail", list[i].detail);
        json_put_str(w, "field", list[i].field);
        json_close(w);
    }
    json_close(w);
}

/* ---- what would be faster and stay encrypted ---- */

/* A gateway whose last report, if it is fresh, lacks the offloads on which its speed hangs. */
static int put_gro(struct json_writer *w, struct db *db, const struct store_gateway *g,
                   struct err *e)
{
    char text[HW_TEXT_MAX + 1];
    struct last last = {.stale = true};
    int rc = last_read(db, &g->id, &last, e);
    if (rc)
        return rc == HW_ENOTFOUND ? 0 : rc;
    if (!last.stale && last.report.dataplane.connected &&
        !(last.report.dataplane.features & DP_FEATURE_UDP_GRO)) {
        (void)snprintf(text, sizeof text, "GRO is off on %s: turn it on", g->name);
        json_put_str(w, NULL, text);
    }
    last_done(&last);
    return 0;
}

static int put_gro_of_site(struct json_writer *w, struct db *db, const struct hw_id *site_id,
                           struct err *e)
{
    struct store_gateway *list = NULL;
    size_t n = 0;
    int rc =
        store_gateway_list(db, &(struct store_page){.limit = UINT32_MAX}, site_id, &list, &n, e);
    for (size_t i = 0; !rc && i < n; i++)
        rc = put_gro(w, db, &list[i], e);
    store_gateway_free(list, n);
    return rc;
}

int policy_put_alternatives(struct json_writer *w, struct db *db, const struct store_connection *c,
                            struct err *e)
{
    json_open_array(w, "alternatives");
    int rc = put_gro_of_site(w, db, &c->site_a_id, e);
    if (!rc)
        rc = put_gro_of_site(w, db, &c->site_b_id, e);
    if (c->suites[0] != ESP_SUITE_AES_128_GCM)
        json_put_str(w, NULL,
                     "the faster suite aes-128-gcm encrypts for less: put it first in suites");
    json_close(w);
    return rc;
}
