/* Objects as a table: a line each, columns by the noun's rows. */
#ifndef HAWSER_CONTROLLER_CLI_TABLE_H
#define HAWSER_CONTROLLER_CLI_TABLE_H

#include "controller/cli/noun.h"

/* Appends the objects of an array to c->out. On a terminal cells are cut so that a line fits. */
int table_print(struct cli *c, const struct column *columns, const struct json_at *items);
/* The same of an array as text, put together from answers. */
int table_print_text(struct cli *c, const struct column *columns, const struct strbuf *array);
/* The same for one object. */
int table_print_one(struct cli *c, const struct column *columns, const struct json_at *item);

#endif
