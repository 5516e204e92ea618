/*
 * Route MTUs over the whole planned chain (DESIGN section 7): each gateway tells its peers how
 * large a packet can go on from it towards a prefix, if that is less than the link to it carries.
 * Tables and arithmetic; no sockets.
 */
#ifndef HAWSER_AGENT_CONTROL_ONWARD_MTU_H
#define HAWSER_AGENT_CONTROL_ONWARD_MTU_H

#include "common/err.h"
#include "common/id.h"
#include "common/ipaddr.h"
#include "common/model/gateway_config.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What was heard from, or told to, the peers: one entry a link and prefix, sorted. */
struct onward_entry {
    struct hw_id link;
    struct prefix prefix;
    uint32_t mtu;
    bool stale; /* of an earlier connection, and not said again yet */
};
struct onward_table {
    struct onward_entry *entries;
    size_t n, cap;
};
#define ONWARD_ENTRIES_MAX HW_FIB_ROUTES_MAX

void onward_table_done(struct onward_table *t);
/* 0: nothing known. */
uint32_t onward_get(const struct onward_table *t, const struct hw_id *link, const struct prefix *p);
/* True when it is news. Beyond ONWARD_ENTRIES_MAX entries nothing is added. */
bool onward_set(struct onward_table *t, const struct hw_id *link, const struct prefix *p,
                uint32_t mtu);
/* All entries of a link: to be said again, or dropped. */
void onward_mark_stale(struct onward_table *t, const struct hw_id *link);
void onward_forget(struct onward_table *t, const struct hw_id *link);
/* Drops what is stale, and links that the config no longer has. True when anything went. */
bool onward_drop_stale(struct onward_table *t, const struct gateway_config *c);

/* A prefix is worth remembering only if a route of the config leads there by the link. */
bool onward_concerns(const struct gateway_config *c, const struct hw_id *link,
                     const struct prefix *p);

/* Largest packet that every member of the route's set carries to the end; `effective` as in
 * gateway_state.h. `except`: index of a link that doesn't count (where the packet came from), or
 * −1. 65,521 when there is no limit. */
uint32_t onward_set_mtu(const struct gateway_config *c, const struct config_route *r,
                        const uint32_t *effective, const struct onward_table *heard, int except);

/* Calls `tell` for each prefix of which the peer of links[index] must hear something new, and notes
 * it in `told`: limits below the link's own MTU, and the end of such a limit. `site_mtu`: of the
 * site's interface, 0 if unknown. */
typedef int (*onward_tell_fn)(void *arg, const struct hw_id *link, const struct prefix *p,
                              uint32_t mtu);
void onward_tell(const struct gateway_config *c, size_t index, const uint32_t *effective,
                 uint32_t site_mtu, const struct onward_table *heard, struct onward_table *told,
                 onward_tell_fn tell, void *arg);

#endif
