/* Whole files: read with a cap, write so that a crash leaves the old or the new one, never a part.
 */
#ifndef HAWSER_COMMON_FSUTIL_H
#define HAWSER_COMMON_FSUTIL_H

#include "common/err.h"
#include <stddef.h>
#include <sys/types.h>

/* The whole file, with one more byte (a NUL) behind it; free it (secret_wipe first if it held one).
 * HW_ENOTFOUND, HW_ETOOBIG beyond `cap` bytes, HW_EFAIL. */
int fsutil_read(const char *path, size_t cap, char **out, size_t *len, struct err *e);
/* Writes PATH.tmp with `mode`, fsyncs it, renames it over PATH, fsyncs the directory. */
int fsutil_write(const char *path, const void *data, size_t len, mode_t mode, struct err *e);
/* rename(2) within one directory, then fsync of the directory. */
int fsutil_rename(const char *from, const char *to, struct err *e);
/* Removes a file and fsyncs the directory; a missing file is no error. */
int fsutil_remove(const char *path, struct err *e);
/* Makes the directory (not its parents) unless it is there. */
int fsutil_mkdir(const char *path, mode_t mode, struct err *e);

#endif
