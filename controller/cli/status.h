/* The whole network on one page. */
#ifndef HAWSER_CONTROLLER_CLI_STATUS_H
#define HAWSER_CONTROLLER_CLI_STATUS_H

#include "controller/cli/cli.h"

/* Appends the page to c->out. *not_up: how many gateways and links that should be up are not. */
int status_page(struct cli *c, unsigned *not_up);

#endif
