/* The pools that gateways' overlay addresses come from: one of each family, fixed when the store is
 * made. */
#ifndef HAWSER_CONTROLLER_STORE_OVERLAY_POOLS_H
#define HAWSER_CONTROLLER_STORE_OVERLAY_POOLS_H

#include "common/ipaddr.h"
#include "controller/store/store.h"

#define OVERLAY_POOLS 2 /* [0] IPv4, [1] IPv6 */

int store_overlay_pools(struct db *db, struct prefix out[OVERLAY_POOLS], struct err *e);

/*
 * Sets the pools where the store has none: as given, or where the family is 0 the default,
 * 100.127.0.0/16 and a random ULA /48 (RFC 4193 section 3.2.2). Pools that the store has already
 * must be the given ones: addresses in use came from them (HW_ECONFLICT).
 */
int store_overlay_pools_set(struct db *db, const struct prefix wanted[OVERLAY_POOLS],
                            struct err *e);

/* Free host addresses, one of each pool: the one after the highest in use, so that an address that
 * was just given up is not handed on at once, and the lowest free one when the pool's end is
 * reached. The network's own address and IPv4's last one are left out. HW_ECONFLICT when a pool is
 * exhausted. */
int store_overlay_alloc(struct db *db, struct ipaddr *out4, struct ipaddr *out6, struct err *e);

#endif
