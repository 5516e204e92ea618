/* Sites and their prefixes. */
#ifndef HAWSER_CONTROLLER_STORE_SITE_H
#define HAWSER_CONTROLLER_STORE_SITE_H

#include "common/id.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include "common/model/gateway_config.h"
#include "controller/store/store.h"

#define STORE_SHORT_TEXT 32

struct store_site {
    struct hw_id id;
    char name[HW_NAME_MAX + 1];
    char provider[STORE_SHORT_TEXT]; /* "aws" "azure" "gcp" "oci" "vsphere" "onprem" */
    char region[HW_NAME_MAX + 1];    /* "" when there is none */
    enum site_role role;
    char domain[HW_NAME_MAX + 1];
    bool trusted_underlay;
    char takeover[STORE_SHORT_TEXT]; /* "none" "arp" "ecmp" "cloud_routes" */
    struct prefix cidrs[HW_SITE_CIDRS_MAX];
    size_t n_cidrs;
    struct store_common common;
};

/* Fills s->common. HW_ECONFLICT: name taken. */
int store_site_insert(struct db *db, struct store_site *s, struct err *e);
int store_site_update(struct db *db, struct store_site *s, struct err *e);
int store_site_delete(struct db *db, const struct hw_id *id, struct err *e);
/* HW_ENOTFOUND. */
int store_site_get(struct db *db, const struct hw_id *id, struct store_site *out, struct err *e);
/* *out is one malloc'ed array; free() it. By name. */
int store_site_list(struct db *db, const struct store_page *page, struct store_site **out,
                    size_t *n, struct err *e);
int store_site_all(struct db *db, struct store_site **out, size_t *n, struct err *e);
/* The first prefix of another site than `except` that overlaps p. HW_ENOTFOUND when there is none.
 */
int store_site_overlap(struct db *db, const struct prefix *p, const struct hw_id *except,
                       struct prefix *other, char site_name[HW_NAME_MAX + 1], struct err *e);
/* Name of each gateway and connection that keeps the site from being deleted: "gateway gw-a1,
 * connection a-t" (at most `cap` bytes; "" when none). */
int store_site_dependents(struct db *db, const struct hw_id *id, char *out, size_t cap,
                          struct err *e);

#endif
