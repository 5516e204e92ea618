/* What a gateway tells about its machine, at enrolment and in every report: interfaces and
 * endpoints. */
#ifndef HAWSER_COMMON_MODEL_NODE_H
#define HAWSER_COMMON_MODEL_NODE_H

#include "common/err.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODE_IFNAME_MAX    16 /* with the NUL, as the kernel's IFNAMSIZ */
#define NODE_ADDRESSES_MAX 16 /* of one interface */

struct json_at;
struct json_writer;

enum node_role { NODE_SITE, NODE_UNDERLAY, NODE_BOTH };
enum node_scope { NODE_PRIVATE, NODE_PUBLIC };

struct node_address {
    struct ipaddr addr; /* host bits kept: "10.1.0.1/24" */
    uint8_t len;
};

struct node_interface {
    char name[NODE_IFNAME_MAX];
    enum node_role role;
    uint32_t mtu;
    struct node_address addresses[NODE_ADDRESSES_MAX];
    size_t n_addresses;
};

struct node_endpoint {
    struct ipaddr address;
    enum node_scope scope;
    bool reachable;
};

/* Where the machine says that it runs; "" is unknown. */
struct node_cloud {
    char provider[HW_NAME_MAX + 1];
    char region[HW_NAME_MAX + 1];
    char size[HW_NAME_MAX + 1]; /* instance size, as the provider calls it */
};

struct node {
    struct node_interface interfaces[HW_INTERFACES_MAX];
    size_t n_interfaces;
    struct node_endpoint endpoints[HW_ENDPOINTS_MAX];
    size_t n_endpoints;
};

const char *node_role_name(enum node_role r);   /* "site" "underlay" "both" */
const char *node_scope_name(enum node_scope s); /* "private" "public" */

/* The members "interfaces" and "endpoints" of an object. */
void node_put(struct json_writer *w, const struct node *n);
int node_get(const struct json_at *at, struct node *out, struct err *e);
/* One endpoint object, as the REST API also takes it. */
int node_endpoint_get(const struct json_at *at, struct node_endpoint *out, struct err *e);
void node_endpoint_put(struct json_writer *w, const struct node_endpoint *p);
void node_interface_put(struct json_writer *w, const struct node_interface *i);
/* The member "cloud": an object, or null when nothing is known. */
void node_cloud_put(struct json_writer *w, const struct node_cloud *c);
/* A missing member is null. */
int node_cloud_get(const struct json_at *at, struct node_cloud *out, struct err *e);
bool node_cloud_equal(const struct node_cloud *a, const struct node_cloud *b);

#endif
