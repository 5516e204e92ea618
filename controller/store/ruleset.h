/* Rulesets: a site's filter, at its edge. */
#ifndef HAWSER_CONTROLLER_STORE_RULESET_H
#define HAWSER_CONTROLLER_STORE_RULESET_H

#include "common/id.h"
#include "common/limits.h"
#include "controller/store/store.h"

#define RULESET_SCOPE_SITE "site"

struct store_ruleset {
    struct hw_id id;
    char name[HW_NAME_MAX + 1];
    struct hw_id site_id;
    bool enabled;
    bool base_allow;
    bool log_base;
    char description[HW_TEXT_MAX + 1]; /* "" when there is none */
    unsigned rules_total;              /* read only */
    struct store_common common;
};

/* Fills s->common. HW_ECONFLICT: name taken, or the site has one already. */
int store_ruleset_insert(struct db *db, struct store_ruleset *s, struct err *e);
int store_ruleset_update(struct db *db, struct store_ruleset *s, struct err *e);
int store_ruleset_delete(struct db *db, const struct hw_id *id, struct err *e);
/* HW_ENOTFOUND. */
int store_ruleset_get(struct db *db, const struct hw_id *id, struct store_ruleset *out,
                      struct err *e);
/* By name; site_id NULL: of all sites. free() the array. */
int store_ruleset_list(struct db *db, const struct store_page *page, const struct hw_id *site_id,
                       struct store_ruleset **out, size_t *n, struct err *e);

#endif
