/* Sets of prefixes in the one form that equal sets have. */
#ifndef HAWSER_CONTROLLER_FIREWALL_PREFIX_SET_H
#define HAWSER_CONTROLLER_FIREWALL_PREFIX_SET_H

#include "common/ipaddr.h"
#include <stddef.h>

/* Sorts them, drops those inside of others, and joins the two halves of a wider prefix. Returns how
 * many are left. */
size_t prefix_set_join(struct prefix *p, size_t n);

#endif
