/*
 * How long audit records are kept. Before old ones are removed, a record of its own (a checkpoint)
 * says up to which, and the hash of the last of them: what is left stays verifiable, since the
 * oldest record left follows that hash.
 */
#ifndef HAWSER_CONTROLLER_AUDIT_RETENTION_H
#define HAWSER_CONTROLLER_AUDIT_RETENTION_H

#include "controller/store/audit.h"

#define RETENTION_CHECKPOINT "audit.prune" /* action of checkpoints */

/* Inside a write transaction. Removes records older than `days` once the oldest is a day older than
 * that, so that there is one checkpoint a day at most. *removed: how many. Their age counts from
 * the newest record where that is before `now`: a clock that jumps ahead removes nothing as long as
 * nothing is written. */
int retention_prune(struct db *db, unsigned days, int64_t now, uint64_t *removed, struct err *e);
/* Is the record a checkpoint? Then *out is what it says was removed last. */
bool retention_checkpoint(const struct store_audit *a, struct store_audit_head *out);

#endif
