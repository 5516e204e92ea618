/*
 * What the planner reads: the whole fleet as plain structs, in any order. The store fills them
 * (push/publish.c), tests write them by hand. Arrays belong to the caller; the planner changes
 * nothing.
 */
#ifndef HAWSER_CONTROLLER_PLANNER_TOPOLOGY_H
#define HAWSER_CONTROLLER_PLANNER_TOPOLOGY_H

#include "common/id.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include "common/model/gateway_config.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOPOLOGY_WEIGHT_DEFAULT   100u
#define TOPOLOGY_TUNNELS_DEFAULT  8u
#define TOPOLOGY_INTERVAL_DEFAULT 1000u
#define TOPOLOGY_MISSED_DEFAULT   3u

struct topo_site {
    struct hw_id id;
    char name[HW_NAME_MAX + 1];
    char domain[HW_NAME_MAX + 1];
    enum site_role role;
    const struct prefix *prefixes;
    size_t n_prefixes;
    const struct firewall *firewall; /* of its enabled ruleset; NULL: none */
};

enum topo_scope { TOPO_PRIVATE, TOPO_PUBLIC };

struct topo_endpoint {
    struct ipaddr address;
    enum topo_scope scope;
    unsigned mtu;   /* of its interface; 0: not known */
    bool reachable; /* others can open a connection to it */
    bool
        on_host; /* stands on one of the machine's interfaces; false: the cloud translates it 1:1 */
};

enum topo_gateway_state { TOPO_GATEWAY_PENDING, TOPO_GATEWAY_ENROLLED, TOPO_GATEWAY_REVOKED };

struct topo_gateway {
    struct hw_id id;
    struct hw_id site_id;
    char name[HW_NAME_MAX + 1];
    enum topo_gateway_state state;
    uint16_t port_base;
    unsigned weight;                  /* 1–1000 */
    char size[HW_NAME_MAX + 1];       /* instance size; "" not known */
    unsigned vcpus;                   /* of that size at its site's provider; 0: not known */
    unsigned workers;                 /* of its dataplane, from the last report; 0: not known */
    struct ipaddr overlay4, overlay6; /* family 0: not allocated yet */
    struct topo_endpoint endpoints[HW_ENDPOINTS_MAX];
    size_t n_endpoints;
    /* First addresses of its underlay interface: what packets leave from where none of the
     * endpoints stands on the machine. Family 0: not known. */
    struct ipaddr own4, own6;
};

enum topo_path { TOPO_PATH_AUTO, TOPO_PATH_PRIVATE, TOPO_PATH_PUBLIC };

/* An attachment when one site is a spoke, a peering when both are transits. */
struct topo_connection {
    struct hw_id id;
    char name[HW_NAME_MAX + 1];
    struct hw_id site_a, site_b;
    enum topo_path path;
    unsigned underlay_family; /* 4, 6, or 0: first that both have */
    unsigned tunnels;         /* 1–50, or 0: not set */
    uint8_t suite_order[8];   /* enum esp_suite_id, preference order */
    size_t n_suites;
    bool enabled;
    uint32_t liveness_interval_ms;
    unsigned liveness_missed;
    struct config_permission permission;
};

/* A link that exists already: keeps its id, its offset and the operator's settings. */
struct topo_link {
    struct hw_id id;
    struct hw_id connection_id; /* all zero: bypass */
    struct hw_id gateway_a, gateway_b;
    bool enabled;
    unsigned tunnels_override; /* 1–50, or 0: none */
    unsigned port_offset;      /* 0–49 */
};

/* Number of a domain name that is in use already. */
struct topo_domain {
    char name[HW_NAME_MAX + 1];
    unsigned number; /* 1 to HW_DOMAINS_MAX - 1 */
};

/* Two sites that have been joined: a way for their traffic was in the configs. site_a is the lower
 * id. */
struct topo_join {
    struct hw_id site_a, site_b;
    bool joined; /* still so */
};

struct topology {
    const struct topo_site *sites;
    size_t n_sites;
    const struct topo_gateway *gateways;
    size_t n_gateways;
    const struct topo_connection *connections;
    size_t n_connections;
    const struct topo_link *links;
    size_t n_links;
    const struct topo_domain *domains;
    size_t n_domains;
    const struct topo_join *joins;
    size_t n_joins;
    uint64_t flow_seed, tunnel_seed; /* one for the whole fleet each, made at bootstrap */
    /* Id for a link that has none yet; called in a fixed order, so that a test's counter gives
     * fixed results. */
    struct hw_id (*new_id)(void *arg);
    void *new_id_arg;
};

#endif
