/*
 * Text from outside on a terminal: whatever could move the cursor, change colours or turn the
 * direction of writing is printed as an escape. Names and reasons come from gateways and are not
 * trusted.
 */
#ifndef HAWSER_CONTROLLER_CLI_VISIBLE_H
#define HAWSER_CONTROLLER_CLI_VISIBLE_H

#include "common/strbuf.h"
#include <stddef.h>

/* Appends s with control, format and bidirectional characters as \n, \t, \x1b, \u202e; bytes that
 * are no UTF-8 as \xNN. */
void visible_text(struct strbuf *out, const char *s);
/* The same for text of several lines: line feeds and tabs stay. */
void visible_lines(struct strbuf *out, const char *s, size_t len);
/* The same within a JSON text, which stays JSON and means the same: \u009b. */
void visible_json(struct strbuf *out, const char *json);
/* Columns that the text takes on a terminal: its characters. */
size_t visible_width(const char *s);

#endif
