/* Links: planned, one for each gateway pair of a connection and one inside a site. The planner
 * makes and removes them; an operator changes tunnels_override and enabled alone. */
#ifndef HAWSER_CONTROLLER_STORE_LINK_H
#define HAWSER_CONTROLLER_STORE_LINK_H

#include "common/id.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include "common/model/gateway_config.h"
#include "controller/store/store.h"

struct store_link {
    struct hw_id id;
    struct hw_id connection_id; /* zero for bypass */
    enum link_kind kind;
    struct hw_id gateway_a_id,
        gateway_b_id; /* of the connection's site a and b; bypass: lower id first */
    unsigned tunnels; /* planned, with the override taken in */
    char tunnels_reason[HW_TEXT_MAX + 1]; /* which rule gave their number */
    unsigned tunnels_override;            /* 0: none */
    unsigned port_offset;                 /* 0–49; kept for the link's life */
    bool enabled; /* by the operator; a disabled connection disables its links besides */
    struct ipaddr address_a,
        address_b;                 /* planned outer addresses; family 0 when the plan found none */
    char refusal[HW_TEXT_MAX + 1]; /* why it can't be and stands in no config; "" when it can */
    struct store_common common;
};

int store_link_insert(struct db *db, struct store_link *l, struct err *e);
int store_link_update(struct db *db, struct store_link *l, struct err *e);
int store_link_delete(struct db *db, const struct hw_id *id, struct err *e);
int store_link_get(struct db *db, const struct hw_id *id, struct store_link *out, struct err *e);
/* Filters may be NULL. By id. free() the array. */
int store_link_list(struct db *db, const struct store_page *page, const struct hw_id *connection_id,
                    const struct hw_id *gateway_id, struct store_link **out, size_t *n,
                    struct err *e);
int store_link_all(struct db *db, struct store_link **out, size_t *n, struct err *e);
const char *link_kind_name(enum link_kind k);

#endif
