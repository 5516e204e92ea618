/* One value as people read it. */
#ifndef HAWSER_CONTROLLER_CLI_CELL_H
#define HAWSER_CONTROLLER_CLI_CELL_H

#include "controller/cli/noun.h"

enum cell_colour { COLOUR_NONE, COLOUR_GOOD, COLOUR_WARN, COLOUR_BAD, COLOUR_DIM };

/* Appends the text of a column of `item`, "-" where there is none; never anything that a terminal
 * obeys. */
void cell_text(struct cli *c, const struct column *col, const struct json_at *item,
               struct strbuf *out);
enum cell_colour cell_colour(const struct column *col, const char *text);
/* Begin and end of a colour, "" without colours. */
const char *cell_begin(const struct cli *c, enum cell_colour colour);
const char *cell_end(const struct cli *c, enum cell_colour colour);

/* "12 s", "3 min", "2 h", "5 d" */
void cell_span(struct strbuf *out, int64_t seconds);
/* "941 Mbit/s"; `unit` follows the prefix: "bit/s", "packets/s" */
void cell_scaled(struct strbuf *out, double v, const char *unit);
/* "96 GiB" */
void cell_bytes(struct strbuf *out, double v);
/* Seconds since a time of the API; INT64_MIN: it is none. */
int64_t cell_age(const struct json_at *time);

#endif
