/* What an operator must not overlook on the status page: traffic that may leave in plain, and
 * firewalls that do not stand as they are written. */
#ifndef HAWSER_CONTROLLER_CLI_WARNINGS_H
#define HAWSER_CONTROLLER_CLI_WARNINGS_H

#include "controller/cli/cli.h"

/* A line for each, in the colour of its weight. Reads `connections` and `rulesets` of `doc`. */
void warnings_put(struct cli *c, const struct json_at *doc);
/* Gateways on which a ruleset failed: that is not up, as --check means it. */
unsigned warnings_failed(const struct json_at *doc);

#endif
