#include "controller/service_user.h"
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A numeric uid need not be in the password file; its group is then the same number. */
static int look_up(const char *user, uid_t *uid, gid_t *gid, struct err *e)
{
    char *end;
    unsigned long number = strtoul(user, &end, 10);
    bool numeric = user[0] && !*end && strspn(user, "0123456789") == strlen(user);
    if (numeric && number >= UINT32_MAX)
        return err_set_field(e, HW_EINVAL, "user", "user: %s is not a user id", user);
    const struct passwd *p = numeric ? getpwuid((uid_t)number) : getpwnam(user);
    if (!p && !numeric)
        return err_set_field(e, HW_EINVAL, "user", "there is no user %s on this machine", user);
    *uid = p ? p->pw_uid : (uid_t)number;
    *gid = p ? p->pw_gid : (gid_t)number;
    return 0;
}

static int make_state_dir(const char *dir, uid_t uid, gid_t gid, struct err *e)
{
    if (mkdir(dir, 0700) == 0)
        return chown(dir, uid, gid) ? err_errno(e, errno, "give %s to uid %u", dir, uid) : 0;
    return errno == EEXIST ? 0 : err_errno(e, errno, "make %s", dir);
}

int service_user_enter(const char *user, const char *state_dir, struct err *e)
{
    uid_t uid = 0;
    gid_t gid = 0;
    if (geteuid() != 0)
        return 0;
    int rc = look_up(user, &uid, &gid, e);
    if (!rc && uid == 0)
        rc = err_set_field(e, HW_EINVAL, "user", "the controller does not run as root");
    if (!rc)
        rc = make_state_dir(state_dir, uid, gid, e);
    if (rc)
        return rc;
    if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
        return err_errno(e, errno, "become user %s", user);
    return 0;
}
