/* The MTUs of all links: as our underlay allows, as the peers say, the smaller of both; and the
 * limits beyond the peers. */
#ifndef HAWSER_AGENT_CONTROL_LINK_MTU_H
#define HAWSER_AGENT_CONTROL_LINK_MTU_H

#include "agent/control/gateway_state.h"
#include "agent/control/netlink/nl.h"
#include "agent/control/onward_mtu.h"
#include "common/err.h"
#include "common/id.h"
#include <stdbool.h>
#include <stdint.h>

struct link_mtu;

int link_mtu_new(struct link_mtu **out, struct err *e);
void link_mtu_free(struct link_mtu *m);

/* The peer's inner MTU of a link. True when it is news. */
bool link_mtu_peer(struct link_mtu *m, const struct hw_id *link, uint32_t mtu);
bool link_mtu_peer_known(const struct link_mtu *m, const struct hw_id *link);
/* The epoch whose keying connection stands, 0 for none. True for a new connection: both ends say
 * their limits again. */
bool link_mtu_connection(struct link_mtu *m, const struct hw_id *link, uint64_t epoch);
/* What the peer says of the way beyond it. True when it is news. */
bool link_mtu_onward(struct link_mtu *m, const struct gateway_config *c, const struct hw_id *link,
                     const struct prefix *p, uint32_t mtu);
/* Limits that a peer did not say again on its new connection are over. True when there were any. */
bool link_mtu_drop_stale(struct link_mtu *m, const struct gateway_config *c);

/* Looks at the underlay and works out the MTUs of a config's links. */
int link_mtu_find(struct link_mtu *m, struct nl *n, const struct gateway_config *c, struct err *e);
/* The MTUs and limits of the last link_mtu_find, in the order of its config's links; valid until
 * the next. */
void link_mtu_facts(const struct link_mtu *m, struct gateway_facts *out);

/* Tells the peers what is new for them; `c` as in the last link_mtu_find. */
void link_mtu_tell(struct link_mtu *m, const struct gateway_config *c, uint32_t site_mtu,
                   onward_tell_fn tell, void *arg);
/* Links that are gone need no memory. */
void link_mtu_forget_others(struct link_mtu *m, const struct gateway_config *c);

#endif
