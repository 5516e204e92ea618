/* The place of one gateway while its tables are made: shared by fib.c, fib_sources.c and
 * fib_sets.c. */
#ifndef HAWSER_CONTROLLER_PLANNER_FIB_BUILDER_H
#define HAWSER_CONTROLLER_PLANNER_FIB_BUILDER_H

#include "common/dp_proto.h"
#include "controller/planner/fib.h"

/* One link of the gateway that may carry traffic. */
struct fib_link {
    uint32_t index; /* in the config */
    const struct mesh_link *link;
    size_t peer, peer_site;
};

/* What is known about the gateway's place while its tables are made. */
struct fib_builder {
    const struct fleet *fleet;
    const struct mesh *mesh;
    size_t gateway, site;
    struct fib_cache *cache;
    struct gateway_config *config;
    struct fib_link *links; /* usable ones, by (peer gateway, link id): the order of members */
    size_t n_links;
    bool has_class[DP_CLASS_COUNT];
    bool *arrives[DP_CLASS_COUNT];      /* for each site: its packets may come in by that class */
    unsigned *arriving[DP_CLASS_COUNT]; /* for each domain: how many such sites */
    size_t *scratch;                    /* room for all edges of the site */
    size_t cap_sources, cap_routes, cap_sets;
};

/* Makes room for one more element of the array at *array (a pointer to the pointer). */
int fib_grow(void *array, size_t *cap, size_t n, size_t size, size_t max, const char *what,
             struct err *e);
/* True when `site` is one of them. */
bool fib_listed(const size_t *sites, size_t n, size_t site);
/* Number of links to the same peer from `first` on. */
size_t fib_peer_run(const struct fib_builder *b, size_t first);

/* The first link to that gateway, NULL when none that may carry traffic leads to it: it is no peer.
 */
const struct fib_link *fib_peer_link(const struct fib_builder *b, size_t gateway);
/* The gateway's overlay addresses as host prefixes; 0 to 2, none for one that is not enrolled. */
size_t fib_overlay(const struct fib_builder *b, size_t gateway, struct prefix out[2]);

/* Fills config->sources, arrives and arriving. */
int fib_sources_build(struct fib_builder *b, struct err *e);
/* Index of the set with exactly these members, made if it is new. */
int fib_sets_find(struct fib_builder *b, const struct fib_link *const *members, size_t n,
                  uint32_t *out, struct err *e);
/* In the order of their members; the routes follow. */
int fib_sets_order(struct gateway_config *c, struct err *e);

#endif
