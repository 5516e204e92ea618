/* What gateways said about their rulesets: counters, summed over a site's gateways, and whether the
 * set is in force. */
#ifndef HAWSER_CONTROLLER_STORE_RULE_COUNTER_H
#define HAWSER_CONTROLLER_STORE_RULE_COUNTER_H

#include "common/id.h"
#include "common/limits.h"
#include "common/model/firewall.h"
#include "controller/store/store.h"

struct store_rule_counter {
    uint64_t packets, bytes;
    int64_t observed_at; /* the oldest of the gateways' newest; 0: none has reported */
};

struct store_firewall_status {
    struct hw_id ruleset_id;
    int64_t observed_at; /* 0: never; the rest is zero then */
    bool applied;
    char error[HW_TEXT_MAX + 1];
    int64_t conntrack_entries, conntrack_max;
};

/* `what`: "rule", or of a ruleset "base", "established", "invalid". */
int store_rule_counter_get(struct db *db, const struct hw_id *id, const char *what,
                           struct store_rule_counter *out, struct err *e);
/* Adds what has risen since this gateway's last value; a smaller one began anew and counts whole.
 * Of something that is not in the store any more nothing is kept. */
int store_rule_counter_add(struct db *db, const struct hw_id *id, const char *what,
                           const struct hw_id *gateway, const struct firewall_count *now,
                           struct err *e);

int store_firewall_status_get(struct db *db, const struct hw_id *gateway,
                              struct store_firewall_status *out, struct err *e);
/* Seen now. */
int store_firewall_status_set(struct db *db, const struct hw_id *gateway,
                              const struct store_firewall_status *s, struct err *e);

#endif
