/* What writes would do, without doing them. */
#ifndef HAWSER_CONTROLLER_CLI_PLAN_H
#define HAWSER_CONTROLLER_CLI_PLAN_H

#include "controller/cli/cli.h"

/* Asks for one write and prints the plan: 0 when it is feasible. `body` may be NULL. */
int plan_one(struct cli *c, const char *method, const char *path, const char *body);

#endif
