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
    int64_t observed_at; /* the oldest of the enrolled gateways' newest; 0: none */
};

/* One rule, or a set's base policy, at one gateway. */
struct store_rule_series {
    char gateway[HW_NAME_MAX + 1];
    char rule[HW_NAME_MAX + 1]; /* "": the base policy */
    bool allow;
    uint64_t packets, bytes;
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
 * Of something that is not in the store any more, or not of the gateway's own site, nothing is
 * kept. */
int store_rule_counter_add(struct db *db, const struct hw_id *id, const char *what,
                           const struct hw_id *gateway, const struct firewall_count *now,
                           struct err *e);

/* The first `limit` by gateway and place in the set, base policies first; *all: how many there are.
 * *out is one malloc'ed array. */
int store_rule_counter_series(struct db *db, size_t limit, struct store_rule_series **out,
                              size_t *n, uint64_t *all, struct err *e);

int store_firewall_status_get(struct db *db, const struct hw_id *gateway,
                              struct store_firewall_status *out, struct err *e);
/* Seen now. */
int store_firewall_status_set(struct db *db, const struct hw_id *gateway,
                              const struct store_firewall_status *s, struct err *e);

#endif
