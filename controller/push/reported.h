/* A gateway's interfaces as its agent last reported them, out of the store's JSON. */
#ifndef HAWSER_CONTROLLER_PUSH_REPORTED_H
#define HAWSER_CONTROLLER_PUSH_REPORTED_H

#include "common/err.h"
#include "common/model/node.h"
#include "controller/store/gateway.h"

/* *out is malloc'ed, without endpoints; NULL when it has never reported. */
int reported_node(const struct store_gateway *g, struct node **out, struct err *e);
/* The interface with that address; NULL when none has it. `n` may be NULL. */
const struct node_interface *reported_interface(const struct node *n, const struct ipaddr *a);

#endif
