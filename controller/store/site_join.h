/* Pairs of sites that have been joined (planner/joins.h). The planner makes them and says whether
 * they still are; the end of one that is not is the end of a site, or an operator's word. */
#ifndef HAWSER_CONTROLLER_STORE_SITE_JOIN_H
#define HAWSER_CONTROLLER_STORE_SITE_JOIN_H

#include "common/id.h"
#include "controller/store/store.h"

struct store_site_join {
    struct hw_id id;
    struct hw_id site_a_id, site_b_id; /* the lower id first */
    bool joined;
    struct store_common common; /* updated_at: when `joined` last changed */
};

int store_site_join_insert(struct db *db, struct store_site_join *j, struct err *e);
int store_site_join_update(struct db *db, struct store_site_join *j, struct err *e);
int store_site_join_delete(struct db *db, const struct hw_id *id, struct err *e);
/* Of those that are joined no longer; `site_id` may be NULL. By id. free() the array. */
int store_site_join_former(struct db *db, const struct store_page *page,
                           const struct hw_id *site_id, struct store_site_join **out, size_t *n,
                           struct err *e);
int store_site_join_former_get(struct db *db, const struct hw_id *id, struct store_site_join *out,
                               struct err *e);
/* All, by (site_a_id, site_b_id). free() the array. */
int store_site_join_all(struct db *db, struct store_site_join **out, size_t *n, struct err *e);

#endif
