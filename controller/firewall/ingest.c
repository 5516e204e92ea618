#include "controller/firewall/ingest.h"
#include "controller/store/rule_counter.h"
#include <string.h>

static int64_t number(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

int firewall_ingest(struct db *db, const struct hw_id *gateway, const struct report *r,
                    struct err *e)
{
    const struct firewall_report *f = &r->firewall;
    if (!f->present)
        return 0;
    struct store_firewall_status s = {
        .ruleset_id = f->ruleset_id,
        .applied = f->applied,
        .conntrack_entries = r->conntrack.known ? number(r->conntrack.entries) : 0,
        .conntrack_max = r->conntrack.known ? number(r->conntrack.max) : 0,
    };
    memcpy(s.error, f->error, sizeof s.error);
    int rc = store_firewall_status_set(db, gateway, &s, e);
    rc = rc ? rc : store_rule_counter_add(db, &f->ruleset_id, "base", gateway, &f->base, e);
    rc =
        rc ? rc
           : store_rule_counter_add(db, &f->ruleset_id, "established", gateway, &f->established, e);
    rc = rc ? rc : store_rule_counter_add(db, &f->ruleset_id, "invalid", gateway, &f->invalid, e);
    for (size_t i = 0; i < f->n_rules && !rc; i++)
        rc = store_rule_counter_add(db, &f->rules[i].rule_id, "rule", gateway, &f->rules[i].count,
                                    e);
    return rc;
}
