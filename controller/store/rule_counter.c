#include "controller/store/rule_counter.h"
#include "controller/store/gateway.h"
#include "controller/store/stmt.h"
#include <stdlib.h>

/* total() can't overflow as sum() does, and the cast ends at INT64_MAX. A gateway that was revoked
 * will never report again: its counts stay, its time doesn't. */
int store_rule_counter_get(struct db *db, const struct hw_id *id, const char *what,
                           struct store_rule_counter *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT CAST(total(c.packets) AS INTEGER),"
                                 " CAST(total(c.bytes) AS INTEGER),"
                                 " coalesce(min(c.observed_at) FILTER (WHERE g.state = ?3),"
                                 " max(c.observed_at), 0) FROM rule_counters c"
                                 " JOIN gateways g ON g.id = c.gateway_id"
                                 " WHERE c.rule_id = ?1 AND c.what = ?2");
    stmt_id(&q, id);
    stmt_text(&q, what);
    stmt_int(&q, GATEWAY_ENROLLED);
    int rc = stmt_one(&q, "counter", e);
    if (rc)
        return rc;
    out->packets = (uint64_t)col_int(&q);
    out->bytes = (uint64_t)col_int(&q);
    out->observed_at = col_int(&q);
    stmt_end(&q);
    return 0;
}

/* Values above INT64_MAX don't come: no counter of packets or bytes gets there. */
static int64_t clamp(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* An addition that ends at INT64_MAX: an overflow would end the gateway's report. */
#define PLUS(column, by) column " = min(" column ", 9223372036854775807 - " by ") + " by
#define SINCE(now, last) "CASE WHEN " now " < " last " THEN " now " ELSE " now " - " last " END"
#define ADD_PACKETS      PLUS("packets", "(" SINCE("?4", "last_packets") ")")
#define ADD_BYTES        PLUS("bytes", "(" SINCE("?5", "last_bytes") ")")

int store_rule_counter_add(struct db *db, const struct hw_id *id, const char *what,
                           const struct hw_id *gateway, const struct firewall_count *now,
                           struct err *e)
{
    struct stmt q =
        stmt_get(db, "INSERT INTO rule_counters SELECT ?1, ?2, ?3, ?4, ?5, ?4, ?5, ?6"
                     " WHERE EXISTS (SELECT 1 FROM rulesets s"
                     " JOIN gateways g ON g.site_id = s.site_id"
                     " WHERE g.id = ?3 AND s.id = CASE ?2 WHEN 'rule'"
                     " THEN (SELECT ruleset_id FROM rules WHERE id = ?1) ELSE ?1 END)"
                     " ON CONFLICT (rule_id, what, gateway_id) DO UPDATE SET " ADD_PACKETS
                     ", " ADD_BYTES ", last_packets = ?4, last_bytes = ?5, observed_at = ?6");
    stmt_id(&q, id);
    stmt_text(&q, what);
    stmt_id(&q, gateway);
    stmt_int(&q, clamp(now->packets));
    stmt_int(&q, clamp(now->bytes));
    stmt_int(&q, store_now(db));
    return stmt_run(&q, NULL, e);
}

static int count_series(struct db *db, uint64_t *all, struct err *e)
{
    struct stmt q =
        stmt_get(db, "SELECT count(*) FROM rule_counters WHERE what IN ('rule', 'base')");
    int rc = stmt_one(&q, "counters", e);
    if (rc)
        return rc;
    *all = (uint64_t)col_int(&q);
    stmt_end(&q);
    return 0;
}

int store_rule_counter_series(struct db *db, size_t limit, struct store_rule_series **out,
                              size_t *n, uint64_t *all, struct err *e)
{
    void *list = NULL;
    size_t count = 0;
    int rc = count_series(db, all, e);
    if (rc)
        return rc;
    struct stmt q =
        stmt_get(db, "SELECT g.name, coalesce(r.name, ''), coalesce(r.allow, s.base_allow),"
                     " c.packets, c.bytes FROM rule_counters c"
                     " JOIN gateways g ON g.id = c.gateway_id"
                     " LEFT JOIN rules r ON r.id = c.rule_id"
                     " LEFT JOIN rulesets s ON s.id = c.rule_id"
                     " WHERE c.what IN ('rule', 'base') ORDER BY g.name, r.rank LIMIT ?");
    stmt_int(&q, (int64_t)limit);
    while ((rc = stmt_row(&q, e)) == 1) {
        struct store_rule_series *s = rows_add(&list, &count, sizeof *s);
        if (!s) {
            rc = err_set(e, HW_ENOMEM, "out of memory");
            break;
        }
        col_text(&q, s->gateway, sizeof s->gateway);
        col_text(&q, s->rule, sizeof s->rule);
        s->allow = col_int(&q) != 0;
        s->packets = (uint64_t)col_int(&q);
        s->bytes = (uint64_t)col_int(&q);
    }
    stmt_end(&q);
    if (rc < 0) {
        free(list);
        return rc;
    }
    *out = list;
    *n = count;
    return 0;
}

int store_firewall_status_get(struct db *db, const struct hw_id *gateway,
                              struct store_firewall_status *out, struct err *e)
{
    struct stmt q = stmt_get(db, "SELECT ruleset_id, observed_at, applied, error,"
                                 " conntrack_entries, conntrack_max FROM firewall_status"
                                 " WHERE gateway_id = ?");
    *out = (struct store_firewall_status){0};
    stmt_id(&q, gateway);
    int rc = stmt_row(&q, e);
    if (rc == 1) {
        col_id(&q, &out->ruleset_id);
        out->observed_at = col_int(&q);
        out->applied = col_int(&q) != 0;
        col_text(&q, out->error, sizeof out->error);
        out->conntrack_entries = col_int(&q);
        out->conntrack_max = col_int(&q);
    }
    stmt_end(&q);
    return rc < 0 ? rc : 0;
}

int store_firewall_status_set(struct db *db, const struct hw_id *gateway,
                              const struct store_firewall_status *s, struct err *e)
{
    struct stmt q =
        stmt_get(db, "INSERT OR REPLACE INTO firewall_status VALUES (?, ?, ?, ?, ?, ?, ?)");
    stmt_id(&q, gateway);
    stmt_id(&q, &s->ruleset_id);
    stmt_int(&q, store_now(db));
    stmt_int(&q, s->applied);
    stmt_text(&q, s->error);
    stmt_int(&q, s->conntrack_entries);
    stmt_int(&q, s->conntrack_max);
    return stmt_run(&q, NULL, e);
}
