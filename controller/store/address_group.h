/* Address groups: sets of prefixes that the rules of a site name. */
#ifndef HAWSER_CONTROLLER_STORE_ADDRESS_GROUP_H
#define HAWSER_CONTROLLER_STORE_ADDRESS_GROUP_H

#include "common/id.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include "controller/store/store.h"

struct store_address_group {
    struct hw_id id;
    struct hw_id site_id;
    char name[HW_NAME_MAX + 1];
    char description[HW_TEXT_MAX + 1]; /* "" when there is none */
    struct prefix *prefixes;           /* owned */
    size_t n_prefixes;
    unsigned rules_using; /* read only */
    struct store_common common;
};

/* Fills g->common. HW_ECONFLICT: the site has one of this name. */
int store_address_group_insert(struct db *db, struct store_address_group *g, struct err *e);
int store_address_group_update(struct db *db, struct store_address_group *g, struct err *e);
int store_address_group_delete(struct db *db, const struct hw_id *id, struct err *e);
/* HW_ENOTFOUND. */
int store_address_group_get(struct db *db, const struct hw_id *id, struct store_address_group *out,
                            struct err *e);
/* By id; site_id NULL: of all sites. store_address_group_free() it. */
int store_address_group_list(struct db *db, const struct store_page *page,
                             const struct hw_id *site_id, struct store_address_group **out,
                             size_t *n, struct err *e);
void store_address_group_free(struct store_address_group *list, size_t n);

#endif
