/* What the rows say, as text for people and for the shell. */
#ifndef HAWSER_CONTROLLER_CLI_HELP_H
#define HAWSER_CONTROLLER_CLI_HELP_H

#include "controller/cli/noun.h"

/* Of all, of a noun (v NULL), or of a verb. */
void help_print(struct strbuf *out, const struct noun *n, const struct verb *v);
/* Hint to the help of a noun, or of a verb. */
void help_hint(struct cli *c, const struct noun *n, const struct verb *v);
/* "hawserctl site create --name NAME …" */
void help_synopsis(struct strbuf *out, const struct noun *n, const struct verb *v);
/* What the value of a flag looks like: "NAME|ID", "aws|azure", "N". "" for a switch. */
void help_value(struct strbuf *out, const struct flag *f);
/* Every verb on a line, for tests: noun, verb, method, path, shows, and its flags with their
 * members. */
void help_print_verbs(struct strbuf *out);

#endif
