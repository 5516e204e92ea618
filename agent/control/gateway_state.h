/*
 * What a gateway has, or should have, in its kernel and its dataplane: one form for both, so that
 * config_plan.c compares like with like. `gateway_state_of_config` is pure; kernel_state.c reads
 * the kernel's part back and dp_state.c the dataplane's.
 */
#ifndef HAWSER_AGENT_CONTROL_GATEWAY_STATE_H
#define HAWSER_AGENT_CONTROL_GATEWAY_STATE_H

#include "agent/control/netlink/route.h"
#include "agent/control/netlink/rule.h"
#include "agent/control/onward_mtu.h"
#include "agent/control/udp_sockets.h"
#include "common/dp_proto.h"
#include "common/err.h"
#include "common/model/gateway_config.h"
#include "common/model/node.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A route into hawser0; the unreachable route behind it goes without saying in what should be, and
 * is read back by kernel_state.c. */
struct state_route {
    struct prefix prefix;
    unsigned mtu;
    bool tun;     /* the route into hawser0 stands */
    bool backing; /* the unreachable route behind it stands */
};

struct gateway_state {
    /* kernel */
    bool tun_exists;
    int tun_index; /* only read back */
    bool tun_up;
    unsigned tun_mtu;
    struct prefix *addresses; /* of hawser0; sorted */
    size_t n_addresses;
    struct nl_rule *rules; /* both shapes; sorted */
    size_t n_rules;
    struct state_route *routes; /* sorted by prefix */
    size_t n_routes;
    /* dataplane */
    struct udp_port_map {
        uint16_t v4[HW_PORTS_PER_GATEWAY], v6[HW_PORTS_PER_GATEWAY]; /* 0: none */
    } udp;
    bool has_node;
    struct dp_node_set node;
    struct dp_link_set *links; /* sorted by id */
    size_t n_links;
    uint64_t fib_generation;
    bool fib_limited; /* a route of it has an MTU of its own */
    /* Image of struct dp_fib_header …; NULL when only the generation is known. */
    unsigned char *fib;
    size_t fib_len;
};

/* What a config doesn't say. MTUs are inner ones, in the order of config->links[]. */
struct gateway_facts {
    const uint32_t *own_mtus;         /* as this end's underlay allows */
    const uint32_t *mtus;             /* the smaller of both ends */
    const struct onward_table *heard; /* limits beyond the peers; NULL: none */
    const struct node *node;          /* this machine's addresses; NULL: those of the links alone */
};

/* Smallest and largest MTU of hawser0: IPv6 needs 1280 (RFC 8200), nothing over 65,521 crosses the
 * kernel whole. */
#define TUN_MTU_MIN 1280u
#define TUN_MTU_MAX 65521u

int gateway_state_of_config(const struct gateway_config *c, uint64_t revision,
                            const struct gateway_facts *facts, struct gateway_state *out,
                            struct err *e);
void gateway_state_done(struct gateway_state *s);
/* For a kernel without IPv6: its rules, routes and addresses are not wanted (and nothing can leave
 * by them). */
void gateway_state_drop_ipv6(struct gateway_state *s);

/* Orders used by the lists above. */
int state_rule_cmp(const void *a, const void *b);
int state_route_cmp(const void *a, const void *b);
int state_link_cmp(const void *a, const void *b);

/* The class of a link's packets and the message that makes it. */
struct dp_link_set dp_link_of_config(const struct gateway_config *c, size_t index, uint32_t mtu);

#endif
