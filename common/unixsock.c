#include "common/unixsock.h"
#include "common/cleanup.h"
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16

static int make_address(const char *path, struct sockaddr_un *sun, struct err *e)
{
    *sun = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof sun->sun_path)
        return err_set(e, HW_EINVAL, "socket path %s is longer than %zu bytes", path,
                       sizeof sun->sun_path - 1);
    memcpy(sun->sun_path, path, strlen(path) + 1);
    return HW_OK;
}

static int make_socket(struct err *e)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 ? fd : err_errno(e, errno, "make unix socket");
}

/* Removes the file of a listener that is gone; a living one, or a file of another kind, stays. */
static int remove_dead(const char *path, const struct sockaddr_un *sun, struct err *e)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return HW_OK;
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, HW_ECONFLICT, "%s exists and is no socket", path);
    auto_close int probe = make_socket(e);
    if (probe < 0)
        return probe;
    if (connect(probe, (const struct sockaddr *)sun, sizeof *sun) == 0 || errno != ECONNREFUSED)
        return err_set(e, HW_ECONFLICT, "%s: another process listens there", path);
    if (unlink(path) != 0 && errno != ENOENT)
        return err_errno(e, errno, "remove old socket %s", path);
    return HW_OK;
}

/* A bound socket refuses connections until listen(), so mode and group are in force before the
 * first one. */
int unixsock_listen(const char *path, mode_t mode, gid_t gid, struct err *e)
{
    struct sockaddr_un sun;
    int rc = make_address(path, &sun, e);
    if (rc == HW_OK)
        rc = remove_dead(path, &sun, e);
    if (rc != HW_OK)
        return rc;
    auto_close int fd = make_socket(e);
    if (fd < 0)
        return fd;
    if (bind(fd, (const struct sockaddr *)&sun, sizeof sun) != 0)
        return err_errno(e, errno, "bind %s", path);
    if (gid != (gid_t)-1 && lchown(path, (uid_t)-1, gid) != 0)
        return err_errno(e, errno, "set group %u of %s", (unsigned)gid, path);
    if (chmod(path, mode) != 0)
        return err_errno(e, errno, "set mode of %s", path);
    if (listen(fd, BACKLOG) != 0)
        return err_errno(e, errno, "listen on %s", path);
    int out = fd;
    fd = -1;
    return out;
}

int unixsock_connect(const char *path, struct err *e)
{
    struct sockaddr_un sun;
    int rc = make_address(path, &sun, e);
    if (rc != HW_OK)
        return rc;
    auto_close int fd = make_socket(e);
    if (fd < 0)
        return fd;
    if (connect(fd, (const struct sockaddr *)&sun, sizeof sun) != 0)
        return err_errno(e, errno, "connect to %s", path);
    int out = fd;
    fd = -1;
    return out;
}

int unixsock_accept(int listen_fd, struct err *e)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        return fd;
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
        return err_set(e, HW_EAGAIN, "nobody waits");
    return err_errno(e, errno, "accept");
}

int unixsock_peer(int fd, uid_t *uid, gid_t *gid, pid_t *pid, struct err *e)
{
    struct ucred c;
    socklen_t len = sizeof c;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) != 0)
        return err_errno(e, errno, "read peer's credentials");
    if (uid)
        *uid = c.uid;
    if (gid)
        *gid = c.gid;
    if (pid)
        *pid = c.pid;
    return HW_OK;
}

static int socket_error(int errnum, const char *what, struct err *e)
{
    switch (errnum) {
    case EAGAIN:
    case ENOBUFS:
    case EINTR:
        return err_set(e, HW_EAGAIN, "%s: not now", what);
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN:
        return err_set(e, HW_ECLOSED, "%s: peer is gone", what);
    case EMSGSIZE:
        return err_set(e, HW_ETOOBIG, "%s: message too long for the socket", what);
    default:
        return err_errno(e, errnum, "%s", what);
    }
}

int unixsock_send(int fd, const void *data, size_t len, const int *fds, int n_fds, struct err *e)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int) * UNIXSOCK_FDS_MAX)];
    } control = {0};
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (n_fds < 0 || n_fds > UNIXSOCK_FDS_MAX)
        return err_set(e, HW_EINVAL, "cannot send %d fds in one message", n_fds);
    if (n_fds > 0) {
        size_t bytes = sizeof(int) * (size_t)n_fds;
        msg.msg_control = control.buf;
        msg.msg_controllen = CMSG_SPACE(bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(bytes);
        memcpy(CMSG_DATA(c), fds, bytes);
    }
    if (sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return socket_error(errno, "send", e);
    return HW_OK;
}

/* Moves the fds of one control message into fds[], closing those beyond `room`. Returns the number
 * kept. */
static int take_fds(struct cmsghdr *c, int *fds, int kept, int room)
{
    size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < n; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
        if (kept < room)
            fds[kept++] = fd;
        else
            (void)close(fd);
    }
    return kept;
}

ssize_t unixsock_recv(int fd, void *buf, size_t cap, int *fds, int *n_fds, struct err *e)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE(sizeof(int) * UNIXSOCK_FDS_MAX)];
    } control;
    struct iovec iov = {.iov_base = buf, .iov_len = cap};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.buf,
                         .msg_controllen = sizeof control.buf};
    int room = n_fds ? *n_fds : 0, kept = 0;
    if (n_fds)
        *n_fds = 0;
    ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (n < 0)
        return socket_error(errno, "receive", e);
    bool too_long = msg.msg_flags & MSG_TRUNC;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            kept = take_fds(c, fds, kept, too_long ? 0 : room);
    if (too_long)
        return err_set(e, HW_ETOOBIG, "receive: message longer than %zu bytes", cap);
    if (n_fds)
        *n_fds = kept;
    return n;
}
