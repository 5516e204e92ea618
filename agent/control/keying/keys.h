/* SA keys out of the TLS connection of an exchange (DESIGN section 5, "Keys"). They live in the
 * caller's request only: wipe it once it is handed to the dataplane client. */
#ifndef HAWSER_AGENT_CONTROL_KEYING_KEYS_H
#define HAWSER_AGENT_CONTROL_KEYING_KEYS_H

#include "agent/control/keying/conn.h"
#include "agent/control/keying/exchange.h"
#include "common/dp_proto.h"

/* Fills everything but the limits: one SA for each tunnel of the agreed epoch, of one direction as
 * this end sees it. On failure *m is wiped. */
int keys_derive(struct conn *c, const struct exchange *x, enum dp_direction direction,
                struct dp_sa_install *m, struct err *e);

#endif
