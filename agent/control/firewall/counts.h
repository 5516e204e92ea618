/* Counters of a ruleset: from the kernel's listing of the table into reports and into the table
 * that comes after it. */
#ifndef HAWSER_AGENT_CONTROL_FIREWALL_COUNTS_H
#define HAWSER_AGENT_CONTROL_FIREWALL_COUNTS_H

#include "common/model/firewall.h"

struct rule_count {
    struct hw_id rule_id;
    struct firewall_count now;  /* at the last look */
    struct firewall_count told; /* what the controller has */
    bool ever_told;
    struct firewall_count offered; /* in the report that is under way */
    bool is_offered;
    uint64_t untold_since; /* number of the look at which it began to differ; 0: it doesn't */
};

struct firewall_counts {
    struct hw_id ruleset_id;
    struct rule_count *rules; /* in the order of the table's rules */
    size_t n_rules;
    struct firewall_count base, established, invalid; /* each report has them */
    uint64_t looks;
    size_t edge_rules, elements; /* that the last look has seen, of the chain and of all maps */
};

/* What the counters of the next table begin at: rules that it shares with this one go on. */
int firewall_counts_next(const struct firewall_counts *c, const struct firewall *f,
                         struct firewall_counts *out, struct err *e);
/* One look: the JSON listing of the table. */
int firewall_counts_look(struct firewall_counts *c, const char *listing, struct err *e);
/* Those of a report: rules that differ from what was told, longest untold first. */
int firewall_counts_report(struct firewall_counts *c, struct firewall_report *r, struct err *e);
/* The controller has the last report. */
void firewall_counts_told(struct firewall_counts *c);
void firewall_counts_done(struct firewall_counts *c);

#endif
