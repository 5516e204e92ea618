/* What a ruleset is refused for: rules that no packet can ever meet. */
#ifndef HAWSER_CONTROLLER_FIREWALL_CHECKS_H
#define HAWSER_CONTROLLER_FIREWALL_CHECKS_H

#include "controller/store/rule.h"
#include "controller/store/ruleset.h"

/* Judges the whole set after a change, in its new order. HW_EINVAL names a rule whose parts exclude
 * each other, or that earlier rules cover, or of which neither side has to do with the site;
 * with the field "rules" it is about a set that the gateways can't hold. */
int firewall_check(struct db *db, const struct store_ruleset *set, const struct store_rule *rules,
                   size_t n, struct err *e);

/* After a change of what a site's rules are about, its prefixes or its address groups: the same for
 * the rules as they stand. The error is about `field` of the change. */
int firewall_check_site(struct db *db, const struct hw_id *site_id, const char *field,
                        struct err *e);

#endif
