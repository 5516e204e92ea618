/* A site's ruleset as its gateways' configs have it. */
#ifndef HAWSER_CONTROLLER_FIREWALL_SECTION_H
#define HAWSER_CONTROLLER_FIREWALL_SECTION_H

#include "common/model/firewall.h"
#include "controller/store/rule.h"
#include "controller/store/ruleset.h"

/* The set with these rules, in their order; disabled ones are left out. *out is firewall_done()'s.
 * rules[i] of the list is *index[i] of the section, SIZE_MAX when left out (index may be NULL). */
int firewall_section(struct db *db, const struct store_ruleset *set, const struct store_rule *rules,
                     size_t n, struct firewall *out, size_t *index, struct err *e);
/* The enabled ruleset of a site; not present when it has none. */
int firewall_section_of_site(struct db *db, const struct hw_id *site_id, struct firewall *out,
                             struct err *e);

#endif
