/* Flags as the API's members: a JSON body, or a query. */
#ifndef HAWSER_CONTROLLER_CLI_BODY_H
#define HAWSER_CONTROLLER_CLI_BODY_H

#include "controller/cli/args.h"

/* The body that the flags, or --file, give; NULL with CLI_OK: there is none. Free it. */
int body_make(struct cli *c, const struct args *a, const struct flag *flags, char **out);
/* Appends the flags to a path as its query. */
int body_query(struct cli *c, const struct args *a, struct strbuf *path);
/* Writes the members that the given ones of `flags` stand for into an open object. */
int body_put_flags(struct cli *c, struct json_writer *w, const struct args *a,
                   const struct flag *flags);
/* Writes the member that one flag stands for, under the key `key`. */
int body_put(struct cli *c, struct json_writer *w, const struct flag *f, const char *key,
             const char *value);
/* "90", "30m", "24h", "7d" in seconds; false: none of these. */
bool body_duration(const char *text, uint64_t *out);

#endif
