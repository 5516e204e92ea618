/* Spoiling one place of a JSON text, for tests of decoders. */
#ifndef HAWSER_TESTS_MUTATE_H
#define HAWSER_TESTS_MUTATE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy of `text` with the first `from` replaced by `to`; aborts when it isn't there. Free it. */
static inline char *mutate(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *out = NULL;
    if (!at) {
        (void)fprintf(stderr, "not in the text: %s\n", from);
        abort();
    }
    if (asprintf(&out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) < 0)
        abort();
    return out;
}

#endif
