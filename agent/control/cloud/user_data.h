/* An enrolment token in a machine's user data (docs/operations.md, "A gateway in a cloud"). */
#ifndef HAWSER_AGENT_CONTROL_CLOUD_USER_DATA_H
#define HAWSER_AGENT_CONTROL_CLOUD_USER_DATA_H

#include <stddef.h>

/*
 * The token's text (wipe it and free it) from {"hawser":{"token":"…"}}, or from a line
 * "# hawser-token: …", which is a comment to cloud-init and to shells. NULL: no token there; user
 * data of any other kind is none of our business.
 */
char *user_data_token(const char *text, size_t len);

#endif
