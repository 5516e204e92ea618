/* Secrets that an answer shows this once: enrolment tokens and API keys. */
#ifndef HAWSER_CONTROLLER_CLI_SHOWN_ONCE_H
#define HAWSER_CONTROLLER_CLI_SHOWN_ONCE_H

#include "controller/cli/cli.h"

/* The secret of an answer; borrowed. It goes into files and shells, so that nothing but what it
 * begins with ("hwt1.") and the alphabet of tokens may stand in it. */
int shown_once(struct cli *c, const struct json_at *made, const char *member, const char *begins,
               const char **out);

#endif
