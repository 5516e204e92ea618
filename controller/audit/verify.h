/* Judges the whole chain of the audit. */
#ifndef HAWSER_CONTROLLER_AUDIT_VERIFY_H
#define HAWSER_CONTROLLER_AUDIT_VERIFY_H

#include "controller/store/audit.h"

struct audit_verdict {
    uint64_t first, broken; /* first record there is; the first that is broken, 0: none */
    uint64_t count;         /* that were judged */
    struct store_audit_head head;
    struct err why; /* of `broken` */
};

/* From record `from` on, or from the oldest (0). `known` (may be NULL): a head that was kept
 * elsewhere, which must still be in the chain. 0 with *out filled, whatever the verdict; negative:
 * it could not be judged. */
int audit_verify(struct db *db, uint64_t from, const struct store_audit_head *known,
                 struct audit_verdict *out, struct err *e);

#endif
