/* Long work of the controller: waited for with progress, its result printed. */
#ifndef HAWSER_CONTROLLER_CLI_OPERATION_H
#define HAWSER_CONTROLLER_CLI_OPERATION_H

#include "controller/cli/cli.h"

/* Follows an operation to its end and prints what it found: 0 when that is good news. Ctrl-C
 * cancels it first. */
int operation_follow(struct cli *c, const char *id);

#endif
