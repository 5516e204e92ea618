/* What a write changed of an object, from its JSON before and after. */
#ifndef HAWSER_CONTROLLER_AUDIT_DIFFERENCE_H
#define HAWSER_CONTROLLER_AUDIT_DIFFERENCE_H

#include "common/err.h"

/* Objects as texts of a json_writer; NULL for the one that isn't there: the other is then told
 * whole. Without what was merely observed, and without `secret` (a member; NULL: none). *before_out
 * and *after_out are malloc'ed, NULL where there is nothing to tell. */
int audit_difference(const char *before, const char *after, const char *secret, char **before_out,
                     char **after_out, struct err *e);

#endif
