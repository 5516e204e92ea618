/* The state directory as a whole: who owns it, and who uses it. */
#ifndef HAWSER_AGENT_CONTROL_STATE_DIR_H
#define HAWSER_AGENT_CONTROL_STATE_DIR_H

#include "common/err.h"

/* Makes the directory unless it is there. */
int state_dir_make(const char *dir, struct err *e);
/* One agent at a time. *out holds the lock until it is closed; HW_ECONFLICT when another has it. */
int state_dir_lock(const char *dir, int *out, struct err *e);
/* When root has enrolled this machine (cloud-init does), the service must be able to read the
 * result: the directory and its files go to the directory's owner, or, where root has just made it,
 * to the user hawser-agent. Does nothing for other users. */
int state_dir_hand_over(const char *dir, struct err *e);

#endif
