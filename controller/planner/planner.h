/*
 * From intent to configs (DESIGN section 4): a pure function of the topology. The same topology
 * gives the same bytes, whatever the order of its arrays.
 *
 * Every connection becomes one link for each pair of gateways of its two sites; a site with two or
 * more gateways also gets a bypass link between each two of them. Links of revoked gateways do not
 * exist. A link with a pending end exists (so that it can be read and set) but stands in no config.
 */
#ifndef HAWSER_CONTROLLER_PLANNER_PLANNER_H
#define HAWSER_CONTROLLER_PLANNER_PLANNER_H

#include "common/err.h"
#include "controller/planner/topology.h"
#include "controller/planner/tunnel_set.h"

enum planned_link_state {
    PLANNED_LINK_READY,   /* stands in both configs (disabled ones with enabled = false) */
    PLANNED_LINK_PENDING, /* an end is not enrolled yet */
    PLANNED_LINK_REFUSED, /* cannot be: `reason` says why */
};

#define PLANNED_REASON_MAX 200

struct planned_link {
    struct hw_id id;
    struct hw_id connection_id; /* all zero: bypass */
    enum link_kind kind;
    struct hw_id gateway_a,
        gateway_b;    /* a is of the connection's site_a; in a bypass the lower id */
    bool enabled;     /* the connection's and its own */
    unsigned tunnels; /* 1–50 */
    char tunnels_reason[TUNNEL_REASON_MAX];
    unsigned port_offset;               /* 0–49 */
    struct ipaddr address_a, address_b; /* what the other end sends to; family 0 unless READY */
    enum planned_link_state state;
    char reason[PLANNED_REASON_MAX]; /* "" unless REFUSED */
    char field[ERR_FIELD_MAX];       /* of the object that the reason is about: "endpoints" */
    bool created;                    /* was not among the topology's links */
};

struct planned_gateway {
    struct hw_id gateway_id;
    struct gateway_config config;
    char *body; /* canonical JSON, as signed */
    size_t body_len;
};

struct plan {
    struct planned_link
        *links; /* by id; every link of the topology that is not here ceases to exist */
    size_t n_links;
    struct planned_gateway *gateways; /* by id; enrolled gateways alone */
    size_t n_gateways;
    struct topo_domain *domains; /* by number: every domain in use */
    size_t n_domains;
    struct topo_join *joins; /* by (site_a, site_b): the topology's, and those that begin now */
    size_t n_joins;
};

/*
 * On failure *out is untouched. HW_EINVAL with e->field where the topology itself cannot be
 * planned: too many links, tunnels, domains; a connection of two spokes or of a site with itself;
 * unknown ids. Links that cannot be (no common family, neither end reachable) are no failure here:
 * they are PLANNED_LINK_REFUSED, and the caller decides whether that is refused to an operator or
 * shown as a state.
 */
int planner_run(const struct topology *t, struct plan *out, struct err *e);
void plan_done(struct plan *p);

/* attachment or peering by the roles of the two sites; HW_EINVAL (field "site_b_id") for two
 * spokes. */
int planner_connection_kind(enum site_role a, enum site_role b, enum link_kind *out, struct err *e);

#endif
