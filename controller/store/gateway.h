/* Gateways, their endpoints, and the certificates issued to them. */
#ifndef HAWSER_CONTROLLER_STORE_GATEWAY_H
#define HAWSER_CONTROLLER_STORE_GATEWAY_H

#include "common/id.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include "common/model/node.h"
#include "controller/store/store.h"

enum gateway_state { GATEWAY_PENDING, GATEWAY_ENROLLED, GATEWAY_REVOKED };

struct store_endpoint {
    struct ipaddr address;
    bool is_public; /* scope "public", else "private" */
    bool reachable; /* peers can open connections to it */
};

struct store_gateway {
    struct hw_id id;
    char name[HW_NAME_MAX + 1];
    struct hw_id site_id;
    char size[HW_NAME_MAX + 1]; /* instance size; "" unknown */
    uint16_t port_base;
    unsigned weight; /* 1–1000 */
    enum gateway_state state;
    struct ipaddr overlay4, overlay6; /* family 0: assigned at insert */
    struct store_endpoint endpoints[HW_ENDPOINTS_MAX];
    size_t n_endpoints;
    bool endpoints_by_operator; /* then reports don't change them */
    char *interfaces_json;      /* canonical JSON array as reported; owned; NULL: never reported */
    struct node_cloud cloud;    /* as the machine last said */
    unsigned workers;           /* of its dataplane, as last reported; 0: not known */
    char agent_version[HW_NAME_MAX + 1];
    char boot_id[ID_TEXT_MAX]; /* machine's boot id of the last enrolment or report; "" */
    char cert_serial[64];      /* newest certificate; "" when none */
    int64_t cert_not_after;
    struct store_common common;
};

void store_gateway_done(struct store_gateway *g);
/* Frees an array made by a list function. NULL is accepted. */
void store_gateway_free(struct store_gateway *list, size_t n);

/* Assigns overlay addresses from the pools where it has none. Fills g->common. HW_ECONFLICT:
 * name taken or pools exhausted. */
int store_gateway_insert(struct db *db, struct store_gateway *g, struct err *e);
/* Writes all fields but the overlay addresses. */
int store_gateway_update(struct db *db, struct store_gateway *g, struct err *e);
int store_gateway_delete(struct db *db, const struct hw_id *id, struct err *e);
int store_gateway_get(struct db *db, const struct hw_id *id, struct store_gateway *out,
                      struct err *e);
int store_gateway_by_name(struct db *db, const char *name, struct store_gateway *out,
                          struct err *e);
/* site_id NULL: of all sites. By name. */
int store_gateway_list(struct db *db, const struct store_page *page, const struct hw_id *site_id,
                       struct store_gateway **out, size_t *n, struct err *e);
int store_gateway_all(struct db *db, struct store_gateway **out, size_t *n, struct err *e);

/* Only the state: what every request of an agent asks. HW_ENOTFOUND. */
int store_gateway_state(struct db *db, const struct hw_id *id, enum gateway_state *out,
                        struct err *e);
const char *gateway_state_name(enum gateway_state s);

/* A certificate given out; also sets the gateway's cert_serial and cert_not_after. */
int store_certificate_add(struct db *db, const struct hw_id *gateway_id, const char *serial,
                          int64_t not_after, struct err *e);
/* How many the gateway was given at `since` or later. */
int store_certificate_count(struct db *db, const struct hw_id *gateway_id, int64_t since,
                            unsigned *out, struct err *e);

#endif
