/* Our one table of nftables in the kernel: what a config asks for goes in whole or not at all. */
#ifndef HAWSER_AGENT_CONTROL_FIREWALL_TABLE_H
#define HAWSER_AGENT_CONTROL_FIREWALL_TABLE_H

#include "common/model/firewall.h"

struct firewall_table;

int firewall_table_new(struct firewall_table **out, struct err *e);
void firewall_table_free(struct firewall_table *t); /* the kernel's table stays */

/* The kernel's table becomes that of `f`, or goes when there is no ruleset. Nothing is touched when
 * it is that already, so that counters go on over restarts of the agent. After a failure the table
 * from before stands. */
int firewall_table_apply(struct firewall_table *t, const struct firewall *f, struct err *e);
/* Looks at the counters, unless the last look at so many is too short ago. HW_ENOTFOUND: somebody
 * took the table away. */
int firewall_table_look(struct firewall_table *t, uint64_t now, struct err *e);

/* Fills the report's section; not present without a ruleset. */
int firewall_table_report(struct firewall_table *t, struct firewall_report *r, struct err *e);
/* The controller has the last report. */
void firewall_table_told(struct firewall_table *t);

/* Takes the table away, whoever made it. */
int firewall_table_remove(struct err *e);

#endif
