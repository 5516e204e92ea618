/* Denials: gateways and certificates that are refused for good. They outlive the gateway's row, and
 * end when nothing is left that could be refused. */
#ifndef HAWSER_CONTROLLER_STORE_DENIAL_H
#define HAWSER_CONTROLLER_STORE_DENIAL_H

#include "common/id.h"
#include "controller/store/store.h"

/* Denies the gateway and its certificates that have not ended under one new number, and remembers
 * its peers (the other ends of its links now) as unconfirmed. Does not change the gateway's state.
 */
int store_denial_add(struct db *db, const struct hw_id *gateway_id, struct err *e);

/* The newest number that was ever heard of: this store's own, or an agent's after a backup was
 * restored. */
int store_denial_known(struct db *db, uint64_t *out, struct err *e);
/* The next denial gets a number above `floor`: agents know of one up to it that this store has
 * lost. */
int store_denial_raise(struct db *db, uint64_t floor, struct err *e);

/* The newest number; 0 when nothing was ever denied. */
int store_denial_number(struct db *db, uint64_t *out, struct err *e);
/* All of them, sorted. free() both arrays. */
int store_denial_all(struct db *db, struct hw_id **gateway_ids, size_t *n_gateways,
                     char (**serials)[64], size_t *n_serials, struct err *e);
bool store_denial_serial(struct db *db, const char *serial);

/* Peers of a revoked gateway that have not reported this denial yet. free() the array. */
int store_denial_unconfirmed(struct db *db, const struct hw_id *gateway_id, struct hw_id **out,
                             size_t *n, struct err *e);

/* A certificate that ended this long ago is good for nothing: the grace in which it may still renew
 * (CA_RENEW_GRACE_S), and 30 days more, since clocks differ. */
#define DENIAL_KEPT_S (210ll * 86400)

/* Removes denials of certificates that ended that long before `now`, of permissions whose date is
 * that old, and of gateways that are deleted and have no other ones. The rows of the newest number
 * stay: it never falls. Agents learn of it with the next number. */
int store_denial_prune(struct db *db, int64_t now, unsigned *removed, struct err *e);

#endif
