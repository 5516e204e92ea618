/* What earlier versions said, as tests/data/vVERSION keeps it (tests/data/README.md). */
#ifndef HAWSER_TESTS_RECORDED_H
#define HAWSER_TESTS_RECORDED_H

#include "common/fsutil.h"
#include "tests/unit/suite.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls `check` for each file that fits the pattern below a version's folder, as text (NUL behind
 * it). A name that no version has is a failure. */
static inline void recorded_each(const char *pattern,
                                 void (*check)(const char *path, const char *data, size_t len))
{
    char full[400];
    glob_t found = {0};
    (void)snprintf(full, sizeof full, HAWSER_DATA_DIR "/v*/%s", pattern);
    CU_ASSERT_EQUAL_FATAL(glob(full, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *data = NULL;
        size_t len = 0;
        struct err e = {0};
        CU_ASSERT_EQUAL_FATAL(fsutil_read(found.gl_pathv[i], 16u << 20, &data, &len, &e), 0);
        check(found.gl_pathv[i], data, len);
        free(data);
    }
    globfree(&found);
}

/* Says which file it was when something is not read any more. */
static inline void recorded_accept(const char *path, int rc, const struct err *e)
{
    if (rc)
        (void)printf("\n%s: %s %s\n", path, e->field, e->text);
    CU_ASSERT_EQUAL(rc, 0);
}

/* The file `name` in the same folder as `path`. */
static inline char *recorded_beside(const char *path, const char *name, size_t *len)
{
    char full[400], *data = NULL;
    struct err e = {0};
    (void)snprintf(full, sizeof full, "%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
    CU_ASSERT_EQUAL_FATAL(fsutil_read(full, 16u << 20, &data, len, &e), 0);
    return data;
}

#endif
