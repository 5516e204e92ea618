/* What test support takes for granted, checked in every build type. */
#ifndef HAWSER_TESTS_CONTROL_MUST_H
#define HAWSER_TESTS_CONTROL_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define must(ok)                                                                                   \
    do {                                                                                           \
        if (!(ok)) {                                                                               \
            (void)fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #ok);              \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
