/* The user that the controller runs as. */
#ifndef HAWSER_CONTROLLER_SERVICE_USER_H
#define HAWSER_CONTROLLER_SERVICE_USER_H

#include "common/err.h"

/* Root becomes `user` (a name, or a numeric uid with its primary group) for good, after making
 * `state_dir` for it when it is missing. Anyone else stays who they are. */
int service_user_enter(const char *user, const char *state_dir, struct err *e);

#endif
