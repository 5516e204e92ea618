#include "agent/control/state_dir.h"
#include "common/fsutil.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int state_dir_make(const char *dir, struct err *e)
{
    return fsutil_mkdir(dir, 0700, e);
}

int state_dir_lock(const char *dir, int *out, struct err *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, errno, "%s", dir);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int rc = errno == EWOULDBLOCK
                     ? err_set(e, HW_ECONFLICT,
                               "another hawser-agent runs on the state directory %s: end that one "
                               "first, or give this one another (state_dir in agent.json)",
                               dir)
                     : err_errno(e, errno, "lock %s", dir);
        (void)close(fd);
        return rc;
    }
    *out = fd;
    return 0;
}

/* Whose the directory should be; false when that is root. */
static bool find_owner(const struct stat *st, uid_t *uid, gid_t *gid)
{
    if (st->st_uid != 0) {
        *uid = st->st_uid;
        *gid = st->st_gid;
        return true;
    }
    const struct passwd *p = getpwnam("hawser-agent");
    if (!p)
        return false;
    *uid = p->pw_uid;
    *gid = p->pw_gid;
    return true;
}

static int chown_files(int fd, uid_t uid, gid_t gid)
{
    DIR *d = fdopendir(fd);
    if (!d) {
        (void)close(fd);
        return -1;
    }
    int rc = 0;
    for (const struct dirent *f; rc == 0 && (f = readdir(d)) != NULL;)
        if (f->d_type == DT_REG)
            rc = fchownat(dirfd(d), f->d_name, uid, gid, AT_SYMLINK_NOFOLLOW);
    int errnum = errno;
    (void)closedir(d);
    errno = errnum;
    return rc;
}

int state_dir_hand_over(const char *dir, struct err *e)
{
    struct stat st;
    uid_t uid;
    gid_t gid;
    if (geteuid() != 0)
        return 0;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0) {
        int rc = err_errno(e, errno, "%s", dir);
        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    if (!find_owner(&st, &uid, &gid)) {
        (void)close(fd);
        return 0;
    }
    if (fchown(fd, uid, gid) < 0) {
        int rc = err_errno(e, errno, "owner of %s", dir);
        (void)close(fd);
        return rc;
    }
    return chown_files(fd, uid, gid) < 0 ? err_errno(e, errno, "owner of files in %s", dir) : 0;
}
