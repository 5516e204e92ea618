/* Connections: what an operator asks for between two sites. */
#ifndef HAWSER_CONTROLLER_STORE_CONNECTION_H
#define HAWSER_CONTROLLER_STORE_CONNECTION_H

#include "common/id.h"
#include "common/limits.h"
#include "common/model/gateway_config.h"
#include "controller/store/store.h"

enum connection_path { PATH_AUTO, PATH_PRIVATE, PATH_PUBLIC };
#define CONNECTION_SUITES_MAX 8

struct store_connection {
    struct hw_id id;
    char name[HW_NAME_MAX + 1];
    struct hw_id site_a_id, site_b_id;
    enum link_kind kind; /* LINK_ATTACHMENT or LINK_PEERING, from the sites' roles */
    enum connection_path path;
    unsigned underlay_family;              /* 0: first that both ends have, IPv4 first; 4; 6 */
    unsigned tunnels;                      /* of each link; 0: chosen from both sizes */
    uint8_t suites[CONNECTION_SUITES_MAX]; /* enum esp_suite_id in order of preference */
    size_t n_suites;
    bool enabled;
    bool path_resiliency; /* never a link of one tunnel */
    uint32_t liveness_interval_ms;
    unsigned liveness_missed;
    struct store_common common;
};

int store_connection_insert(struct db *db, struct store_connection *c, struct err *e);
int store_connection_update(struct db *db, struct store_connection *c, struct err *e);
int store_connection_delete(struct db *db, const struct hw_id *id, struct err *e);
int store_connection_get(struct db *db, const struct hw_id *id, struct store_connection *out,
                         struct err *e);
/* The connection between these two sites, in either order. HW_ENOTFOUND. */
int store_connection_between(struct db *db, const struct hw_id *site_a, const struct hw_id *site_b,
                             struct store_connection *out, struct err *e);
/* site_id NULL: all; else those that touch it. By name. free() the array. */
int store_connection_list(struct db *db, const struct store_page *page, const struct hw_id *site_id,
                          struct store_connection **out, size_t *n, struct err *e);
int store_connection_all(struct db *db, struct store_connection **out, size_t *n, struct err *e);
const char *connection_path_name(enum connection_path p);

#endif
