/* Unix-domain SOCK_SEQPACKET sockets with fd passing and peer credentials (agent <-> dataplane,
 * local control). */
#ifndef HAWSER_COMMON_UNIXSOCK_H
#define HAWSER_COMMON_UNIXSOCK_H

#include "common/err.h"
#include <stddef.h>
#include <sys/types.h>

#define UNIXSOCK_FDS_MAX 4

/* Non-blocking, close-on-exec. An old socket file of a dead listener is replaced; `mode` and `gid`
 * (gid −1: leave) are set before the first connect can come. Returns the fd or a negative code. */
int unixsock_listen(const char *path, mode_t mode, gid_t gid, struct err *e);
int unixsock_connect(const char *path, struct err *e);
/* Non-blocking accept; HW_EAGAIN when nobody waits. */
int unixsock_accept(int listen_fd, struct err *e);
int unixsock_peer(int fd, uid_t *uid, gid_t *gid, pid_t *pid, struct err *e);

/* Sends one message whole with up to UNIXSOCK_FDS_MAX fds (kept open here). HW_EAGAIN when the
 * buffer is full. */
int unixsock_send(int fd, const void *data, size_t len, const int *fds, int n_fds, struct err *e);
/* Receives one message. Returns its length, 0 at end, HW_EAGAIN, or a negative code; HW_ETOOBIG
 * when it was longer than `cap` (it is then dropped). Received fds (close-on-exec) go to fds[],
 * *n_fds in: room, out: number; surplus ones are closed. */
ssize_t unixsock_recv(int fd, void *buf, size_t cap, int *fds, int *n_fds, struct err *e);

#endif
