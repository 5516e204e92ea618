/* Names of objects and their ids, both ways. Each kind is fetched once in a run. */
#ifndef HAWSER_CONTROLLER_CLI_NAMES_H
#define HAWSER_CONTROLLER_CLI_NAMES_H

#include "common/id.h"
#include "controller/cli/noun.h"

void names_free(struct names *n);
/* Forgets all, so that the next look-up asks again. */
void names_reset(struct cli *c);

/* Takes names from objects that are there already, so that they are not fetched. */
int names_learn(struct cli *c, const struct noun *n, const struct json_at *items);
/* The id of what people call `text`; an id stands for itself. `path` is the noun's, with its parent
 * filled in; NULL: the noun's own. */
int names_resolve(struct cli *c, const struct noun *n, const char *path, const char *text,
                  char out[ID_TEXT_MAX]);
/* What people call the object, or the id itself when nobody knows it. Never fails: a look-up that
 * does leaves the id. Borrowed until the next reset. */
const char *names_of(struct cli *c, const struct noun *n, const char *id);
/* Label of an object between two of `n`, "gw-a/gw-b", by its members `a` and `b`. */
int names_pair(struct cli *c, const struct noun *n, const struct json_at *item, const char *a,
               const char *b, struct strbuf *out);

#endif
