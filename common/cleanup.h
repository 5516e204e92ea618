/* Scoped cleanup attributes for locals of control code; use these or a goto ladder in a function,
 * not both. */
#ifndef HAWSER_COMMON_CLEANUP_H
#define HAWSER_COMMON_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_(void *p)
{
    free(*(void **)p);
}
static inline void cleanup_close_(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}
static inline void cleanup_fclose_(FILE **f)
{
    if (*f)
        (void)fclose(*f);
}

#define auto_free   __attribute__((cleanup(cleanup_free_)))
#define auto_close  __attribute__((cleanup(cleanup_close_)))
#define auto_fclose __attribute__((cleanup(cleanup_fclose_)))

#endif
