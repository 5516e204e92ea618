#include "common/fsutil.h"
#include "common/cleanup.h"
#include "common/secret.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#define FIRST_CHUNK 4096

static int open_error(int errnum, const char *path, struct err *e)
{
    if (errnum == ENOENT || errnum == ENOTDIR)
        return err_set(e, HW_ENOTFOUND, "%s: no such file", path);
    return err_errno(e, errnum, "open %s", path);
}

/* Grows by copying, so that the old buffer can be wiped: the file may hold a key. */
static char *grow(char *old, size_t used, size_t cap)
{
    char *p = malloc(cap);
    if (p && used)
        memcpy(p, old, used);
    secret_wipe(old, used);
    free(old);
    return p;
}

int fsutil_read(const char *path, size_t cap, char **out, size_t *len, struct err *e)
{
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return open_error(errno, path, e);
    /* Sizes of files in /proc are 0, so the file is read until its end; one byte over the cap
     * tells. */
    char *buf = NULL;
    size_t room = 0, used = 0;
    int rc = HW_OK;
    for (;;) {
        if (used + 1 >= room) {
            room = room ? 2 * room : FIRST_CHUNK;
            buf = grow(buf, used, room);
            if (!buf)
                return err_set(e, HW_ENOMEM, "read %s: out of memory", path);
        }
        ssize_t n = read(fd, buf + used, room - used - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = err_errno(e, errno, "read %s", path);
        if (n <= 0)
            break;
        used += (size_t)n;
        if (used > cap) {
            rc = err_set(e, HW_ETOOBIG, "%s is larger than %zu bytes", path, cap);
            break;
        }
    }
    if (rc != HW_OK) {
        secret_wipe(buf, used);
        free(buf);
        return rc;
    }
    buf[used] = '\0';
    *out = buf;
    *len = used;
    return HW_OK;
}

static int sync_directory_of(const char *path, struct err *e)
{
    auto_free char *dir = strdup(path);
    if (!dir)
        return err_set(e, HW_ENOMEM, "out of memory");
    char *slash = strrchr(dir, '/');
    if (!slash)
        (void)strcpy(dir, ".");
    else
        slash[slash == dir ? 1 : 0] = '\0';
    auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return open_error(errno, dir, e);
    return fsync(fd) == 0 ? HW_OK : err_errno(e, errno, "sync %s", dir);
}

static int write_all(int fd, const char *p, size_t len, const char *path, struct err *e)
{
    while (len > 0) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, errno, "write %s", path);
        p += n;
        len -= (size_t)n;
    }
    return HW_OK;
}

static int write_tmp(const char *tmp, const void *data, size_t len, mode_t mode, struct err *e)
{
    auto_close int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0)
        return open_error(errno, tmp, e);
    if (fchmod(fd, mode) != 0) /* whatever the umask says */
        return err_errno(e, errno, "set mode of %s", tmp);
    int rc = write_all(fd, data, len, tmp, e);
    if (rc == HW_OK && fsync(fd) != 0)
        rc = err_errno(e, errno, "sync %s", tmp);
    return rc;
}

int fsutil_write(const char *path, const void *data, size_t len, mode_t mode, struct err *e)
{
    auto_free char *tmp = NULL;
    if (asprintf(&tmp, "%s.tmp", path) < 0) {
        tmp = NULL;
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    (void)unlink(tmp); /* left by a crash */
    int rc = write_tmp(tmp, data, len, mode, e);
    if (rc == HW_OK)
        rc = fsutil_rename(tmp, path, e);
    if (rc != HW_OK)
        (void)unlink(tmp);
    return rc;
}

int fsutil_rename(const char *from, const char *to, struct err *e)
{
    if (rename(from, to) != 0) {
        if (errno == ENOENT)
            return err_set(e, HW_ENOTFOUND, "rename %s: no such file", from);
        return err_errno(e, errno, "rename %s to %s", from, to);
    }
    return sync_directory_of(to, e);
}

int fsutil_remove(const char *path, struct err *e)
{
    if (unlink(path) != 0)
        return errno == ENOENT ? HW_OK : err_errno(e, errno, "remove %s", path);
    return sync_directory_of(path, e);
}

int fsutil_mkdir(const char *path, mode_t mode, struct err *e)
{
    struct stat st;
    if (mkdir(path, mode) == 0)
        return HW_OK;
    if (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return HW_OK;
    return err_errno(e, errno, "make directory %s", path);
}
