/* Runs a verb by its rows: path, request, what is printed. */
#ifndef HAWSER_CONTROLLER_CLI_VERBS_H
#define HAWSER_CONTROLLER_CLI_VERBS_H

#include "controller/cli/api.h"
#include "controller/cli/args.h"

/* Asks, sends, prints into c->out. */
int verbs_run(struct cli *c, const struct noun *n, const struct verb *v, struct args *a);

/* Parts of it, for verbs that make their own requests. */
/* Path of the request: the noun's, the object's id, the verb's suffix. */
int verbs_path(struct cli *c, const struct noun *n, const struct verb *v, const struct args *a,
               struct strbuf *out);
/* GETs that path, with the flags as its query. */
int verbs_get(struct cli *c, const struct noun *n, const struct verb *v, const struct args *a,
              struct api_reply *out);
/* Asks before what cannot be undone; without a terminal --yes must say it. */
int verbs_confirm(struct cli *c, const char *what);
/* Prints an answer in the form that the verb and -o ask for. */
int verbs_show(struct cli *c, const struct noun *n, const struct verb *v,
               const struct json_at *answer);

#endif
