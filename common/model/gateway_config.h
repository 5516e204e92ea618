/*
 * The signed config of one gateway: what the planner makes and the agent applies. JSON form and
 * field meanings: docs/protocols.md, "Gateway config". Encoding is canonical (fixed member order,
 * no white space), so that equal configs are equal bytes.
 */
#ifndef HAWSER_COMMON_MODEL_GATEWAY_CONFIG_H
#define HAWSER_COMMON_MODEL_GATEWAY_CONFIG_H

#include "common/err.h"
#include "common/id.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include "common/model/firewall.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GATEWAY_CONFIG_VERSION 1

enum site_role { SITE_SPOKE, SITE_TRANSIT };
/* Values of enum dp_class. */
enum link_kind { LINK_ATTACHMENT = 1, LINK_PEERING = 2, LINK_BYPASS = 3 };

struct config_peer {
    struct hw_id gateway_id;
    struct hw_id site_id;
    char name[HW_NAME_MAX + 1];
    struct ipaddr overlay4, overlay6;
    struct ipaddr endpoints[HW_ENDPOINTS_MAX]; /* all addresses it may speak from */
    size_t n_endpoints;
};

/* What the encryption policy permits besides the link's suites, while trusted time is before
 * `until`. An id is that of one permission: one that has ended is never given again. */
struct config_permission {
    struct hw_id id;
    uint8_t suite; /* ESP_SUITE_NONE, ESP_SUITE_AES_256_GMAC; 0: there is no permission */
    int64_t until; /* seconds since 1970 */
};

struct config_link {
    struct hw_id id;
    struct hw_id connection_id;
    enum link_kind kind;
    struct hw_id peer_id; /* one of peers[] */
    bool enabled;
    unsigned tunnels;            /* 1–50, before negotiation */
    unsigned port_offset;        /* 0–49 */
    struct ipaddr local, remote; /* same family */
    uint16_t remote_port_base;
    bool dial;              /* the peer is reachable from here */
    bool peer_dials;        /* this gateway is reachable from the peer */
    uint32_t suites;        /* bits (1 << enum esp_suite_id) allowed, by policy */
    uint8_t suite_order[8]; /* the same in order of preference */
    size_t n_suites;
    uint32_t liveness_interval_ms;
    unsigned liveness_missed;
    struct config_permission permission;
};

struct config_source {
    struct prefix prefix;
    unsigned domain;
    bool local;      /* may come in by TUN */
    uint32_t *links; /* indexes into links[]: may come in by these */
    size_t n_links;
};

/* Values of enum dp_route_kind. */
enum config_route_target { ROUTE_LOCAL = 1, ROUTE_SET = 2, ROUTE_UNREACHABLE = 3 };

struct config_route {
    struct prefix prefix;
    unsigned domain;
    unsigned ingress; /* enum dp_class */
    enum config_route_target target;
    uint32_t set; /* index into sets[] when target is SET */
};

struct config_member {
    uint32_t link;   /* index into links[] */
    unsigned weight; /* 1–1000 */
};

struct config_set {
    struct config_member *members;
    size_t n_members;
    uint8_t bucket[HW_BUCKETS]; /* member index */
};

struct gateway_config {
    struct hw_id gateway_id, site_id;
    char name[HW_NAME_MAX + 1];
    char site_name[HW_NAME_MAX + 1];
    enum site_role role;
    uint16_t port_base;
    struct ipaddr overlay4, overlay6;
    uint64_t flow_seed, tunnel_seed;
    struct prefix *site_prefixes;
    size_t n_site_prefixes;
    struct config_peer *peers;
    size_t n_peers;
    struct config_link *links;
    size_t n_links;
    struct config_source *sources;
    size_t n_sources;
    struct config_route *routes;
    size_t n_routes;
    struct config_set *sets;
    size_t n_sets;
    struct firewall firewall;
};

/* Canonical JSON; free it. NULL when out of memory. */
char *gateway_config_encode(const struct gateway_config *c, size_t *len);
/* Parses and validates all of it: ranges, uniqueness, every index and cross reference. On success
 * *out owns its arrays (gateway_config_done). On failure the JSON path stands in e->field. */
int gateway_config_decode(const char *json, size_t len, struct gateway_config *out, struct err *e);
void gateway_config_done(struct gateway_config *c);

#endif
