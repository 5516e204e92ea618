/* Words behind NOUN VERB: operands and flags, checked against the verb's rows. */
#ifndef HAWSER_CONTROLLER_CLI_ARGS_H
#define HAWSER_CONTROLLER_CLI_ARGS_H

#include "controller/cli/noun.h"

#define ARGS_FLAGS_MAX    64
#define ARGS_OPERANDS_MAX 8

struct args {
    struct {
        const struct flag *flag;
        const char *value; /* borrowed from argv; "true" for a switch */
    } flags[ARGS_FLAGS_MAX];
    size_t n_flags;
    const char *operands[ARGS_OPERANDS_MAX];
    size_t n_operands;
};

/* Reads `words`; what the rows don't know, or miss, is a usage error. */
int args_parse(struct cli *c, const struct noun *n, const struct verb *v, int n_words, char **words,
               struct args *out);
/* Value of a flag, or NULL; the last one counts. */
const char *args_value(const struct args *a, const char *flag);
/* Flags were given that stand for members of the body. */
bool args_has_members(const struct args *a);

#endif
