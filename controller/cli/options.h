/* What every command takes: how to reach the controller and how to print. Order: flag, environment,
 * file, default. */
#ifndef HAWSER_CONTROLLER_CLI_OPTIONS_H
#define HAWSER_CONTROLLER_CLI_OPTIONS_H

#include "common/settings.h"
#include "controller/cli/cli.h"

struct options {
    struct settings_flag flags[SETTINGS_FLAGS_MAX];
    size_t n_flags;
    const char *config;
    bool help, version, print_verbs;
};

/* Rows of the options for help, completion and the manual; the last one has no name. */
struct option_row {
    const char *name; /* "--url" */
    const char *value, *help;
};
extern const struct option_row option_rows[];

/* Takes the options out of argv; everything else stays, in order. */
int options_take(struct cli *c, int *argc, char **argv, struct options *out);
/* Reads environment, file and token, and makes the client. */
int options_apply(struct cli *c, const struct options *o);

/* The whole of a file, or of standard input for "-"; free it. */
int options_read(struct cli *c, const char *path, size_t cap, char **out, size_t *len);

#endif
