#include "agent/control/keying/sockets.h"
#include "common/cleanup.h"
#include "common/limits.h"
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 64

static int set(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

/* A peer that vanished without a word is noticed within about 15 s, one that restarted within 5 s.
 */
static void set_keepalive(int fd)
{
    (void)set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    (void)set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
    (void)set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 3);
    (void)set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
    (void)set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
    (void)set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

static int make_socket(unsigned family, struct err *e)
{
    auto_close int fd = socket(family == 6 ? AF_INET6 : AF_INET,
                               SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0)
        return err_errno(e, errno, "make TCP socket");
    if (set(fd, SOL_SOCKET, SO_MARK, (int)HW_MARK) != 0)
        return err_errno(e, errno, "mark TCP socket");
    if (family == 6 && set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) != 0)
        return err_errno(e, errno, "limit TCP socket to IPv6");
    int out = fd;
    fd = -1;
    return out;
}

int sockets_dial(const struct ipaddr *local, const struct ipaddr *remote, uint16_t port,
                 struct err *e)
{
    auto_close int fd = make_socket(remote->family, e);
    if (fd < 0)
        return fd;
    set_keepalive(fd);
    (void)set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    struct sockaddr_storage sa;
    socklen_t len = ipaddr_to_sockaddr(local, 0, &sa);
    if (bind(fd, (const struct sockaddr *)&sa, len) != 0) {
        char text[IPADDR_TEXT_MAX];
        return err_errno(e, errno, "bind to %s", ipaddr_text(local, text));
    }
    len = ipaddr_to_sockaddr(remote, port, &sa);
    if (connect(fd, (const struct sockaddr *)&sa, len) != 0 && errno != EINPROGRESS) {
        char text[IPADDR_TEXT_MAX];
        return err_errno(e, errno, "connect to %s port %u", ipaddr_text(remote, text), port);
    }
    int out = fd;
    fd = -1;
    return out;
}

int sockets_listen(unsigned family, uint16_t port, struct err *e)
{
    auto_close int fd = make_socket(family, e);
    if (fd < 0)
        return fd;
    (void)set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    struct ipaddr any = {.family = (uint8_t)family};
    struct sockaddr_storage sa;
    socklen_t len = ipaddr_to_sockaddr(&any, port, &sa);
    if (bind(fd, (const struct sockaddr *)&sa, len) != 0)
        return err_errno(e, errno, "bind to TCP port %u, IPv%u", port, family);
    if (listen(fd, BACKLOG) != 0)
        return err_errno(e, errno, "listen on TCP port %u, IPv%u", port, family);
    int out = fd;
    fd = -1;
    return out;
}

int sockets_accept(int listen_fd, struct ipaddr *from, struct err *e)
{
    struct sockaddr_storage sa;
    socklen_t len = sizeof sa;
    auto_close int fd =
        accept4(listen_fd, (struct sockaddr *)&sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return err_set(e, exhausted ? HW_ENOMEM : HW_EAGAIN, "accept: %s", strerror(errno));
    }
    uint16_t port;
    if (ipaddr_from_sockaddr((const struct sockaddr *)&sa, from, &port) != 0)
        return err_set(e, HW_EAGAIN, "accept: unknown address family");
    /* The mark is inherited from the listener, but an answer must not depend on that. */
    if (set(fd, SOL_SOCKET, SO_MARK, (int)HW_MARK) != 0)
        return err_set(e, HW_EAGAIN, "accept: %s", strerror(errno));
    set_keepalive(fd);
    int out = fd;
    fd = -1;
    return out;
}
