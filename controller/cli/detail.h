/* One object whole: a line for each member, indented like the object is. Knows no schema; what a
 * member means is told by its name's ending. */
#ifndef HAWSER_CONTROLLER_CLI_DETAIL_H
#define HAWSER_CONTROLLER_CLI_DETAIL_H

#include "controller/cli/cli.h"

int detail_print(struct cli *c, const struct json_at *object);

#endif
