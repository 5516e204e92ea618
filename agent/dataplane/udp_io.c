#include "agent/dataplane/udp_io.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* PKTINFO of either family, TOS and UDP_SEGMENT. */
#define CONTROL_MAX                                                                                \
    (CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(int)) +                            \
     CMSG_SPACE(sizeof(uint16_t)))

void udp_io_probe(bool *gso, bool *gro)
{
    *gso = *gro = false;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    int seg = 1200, on = 1;
    *gso = setsockopt(fd, SOL_UDP, UDP_SEGMENT, &seg, sizeof seg) == 0;
    *gro = setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on) == 0;
    close(fd);
}

static int check_kind(const struct udp_socket *s, struct err *e)
{
    int domain = 0, type = 0;
    socklen_t n = sizeof domain;
    if (getsockopt(s->fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) != 0)
        return err_errno(e, errno, "not a socket");
    n = sizeof type;
    if (getsockopt(s->fd, SOL_SOCKET, SO_TYPE, &type, &n) != 0)
        return err_errno(e, errno, "socket type");
    if (type != SOCK_DGRAM || domain != (s->family == 4 ? AF_INET : AF_INET6))
        return err_set(e, HW_EINVAL, "not a UDP socket of IPv%u", s->family);
    return 0;
}

int udp_io_prepare(struct udp_socket *s, struct err *e)
{
    if (check_kind(s, e) != 0)
        return HW_EINVAL;
    int on = 1, gro = s->gro ? 1 : 0;
    if (setsockopt(s->fd, SOL_UDP, UDP_GRO, &gro, sizeof gro) != 0 && s->gro)
        return err_errno(e, errno, "UDP_GRO");
    int rc = s->family == 4 ? setsockopt(s->fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof on)
                            : setsockopt(s->fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &on, sizeof on);
    if (rc != 0)
        return err_errno(e, errno, "receive TOS");
    return 0;
}

void udp_path_set(struct udp_path *p, const struct ipaddr *local, const struct ipaddr *remote,
                  uint16_t port)
{
    struct sockaddr_storage ss;
    *p = (struct udp_path){.local = *local};
    p->remote_len = ipaddr_to_sockaddr(remote, port, &ss);
    memcpy(&p->remote, &ss, sizeof p->remote);
}

bool udp_path_from(const struct udp_path *p, const union udp_sockaddr *from)
{
    if (from->sa.sa_family != p->remote.sa.sa_family)
        return false;
    if (from->sa.sa_family == AF_INET)
        return from->in.sin_addr.s_addr == p->remote.in.sin_addr.s_addr &&
               from->in.sin_port == p->remote.in.sin_port;
    return from->in6.sin6_port == p->remote.in6.sin6_port &&
           memcmp(&from->in6.sin6_addr, &p->remote.in6.sin6_addr, sizeof from->in6.sin6_addr) == 0;
}

unsigned udp_io_burst(unsigned family, size_t seg)
{
    size_t room = family == 4 ? UDP_IO_PAYLOAD_MAX4 : UDP_IO_PAYLOAD_MAX6;
    size_t n = seg == 0 ? 1 : room / seg;
    if (n > UDP_IO_SEGMENTS_MAX)
        n = UDP_IO_SEGMENTS_MAX;
    return n == 0 ? 1 : (unsigned)n;
}

static void read_control(struct msghdr *m, struct udp_rx *rx)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL; c = CMSG_NXTHDR(m, c)) {
        if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) {
            int seg;
            memcpy(&seg, CMSG_DATA(c), sizeof seg);
            if (seg > 0)
                rx->seg = (uint32_t)seg;
        } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
            rx->tos = *CMSG_DATA(c);
        } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
            int tclass;
            memcpy(&tclass, CMSG_DATA(c), sizeof tclass);
            rx->tos = (uint8_t)tclass;
        }
    }
}

int udp_io_recv(const struct udp_socket *s, void *buf, size_t cap, struct udp_rx *rx)
{
    _Alignas(struct cmsghdr) char control[CONTROL_MAX];
    struct iovec iov = {.iov_base = buf, .iov_len = cap};
    struct msghdr m = {.msg_name = &rx->from,
                       .msg_namelen = sizeof rx->from,
                       .msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof control};
    ssize_t n = recvmsg(s->fd, &m, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? -EAGAIN : -errno;
    rx->len = rx->seg = (uint32_t)n;
    rx->tos = 0;
    read_control(&m, rx);
    return (int)n;
}

/* Appends one control message; m->msg_controllen grows by the space that it takes. */
static void add_control(struct msghdr *m, int level, int type, const void *data, size_t len)
{
    struct cmsghdr *c = (struct cmsghdr *)((char *)m->msg_control + m->msg_controllen);
    c->cmsg_level = level;
    c->cmsg_type = type;
    c->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(c), data, len);
    m->msg_controllen += CMSG_SPACE(len);
}

/* Source address always; TOS and segment size only when they say something. */
static void fill_control(struct msghdr *m, const struct udp_path *p, uint8_t tos, uint16_t seg)
{
    if (p->local.family == 4) {
        struct in_pktinfo pi = {0};
        memcpy(&pi.ipi_spec_dst, p->local.b, sizeof pi.ipi_spec_dst);
        add_control(m, IPPROTO_IP, IP_PKTINFO, &pi, sizeof pi);
    } else {
        struct in6_pktinfo pi = {0};
        memcpy(&pi.ipi6_addr, p->local.b, sizeof pi.ipi6_addr);
        add_control(m, IPPROTO_IPV6, IPV6_PKTINFO, &pi, sizeof pi);
    }
    if (tos != 0) {
        int v = tos;
        if (p->local.family == 4)
            add_control(m, IPPROTO_IP, IP_TOS, &v, sizeof v);
        else
            add_control(m, IPPROTO_IPV6, IPV6_TCLASS, &v, sizeof v);
    }
    if (seg != 0)
        add_control(m, SOL_UDP, UDP_SEGMENT, &seg, sizeof seg);
}

static int send_one(int fd, const struct udp_path *p, const void *buf, size_t len, uint16_t seg,
                    uint8_t tos)
{
    _Alignas(struct cmsghdr) char control[CONTROL_MAX];
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
    struct msghdr m = {.msg_name = (void *)(uintptr_t)&p->remote,
                       .msg_namelen = p->remote_len,
                       .msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control};
    fill_control(&m, p, tos, seg);
    ssize_t n = sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n < 0 ? -errno : 0;
}

/* Without UDP_SEGMENT: the same datagrams one by one, in as few calls as possible. */
static int send_plain(int fd, const struct udp_path *p, const uint8_t *buf, size_t len, size_t seg,
                      uint8_t tos)
{
    _Alignas(struct cmsghdr) char control[CONTROL_MAX];
    struct msghdr proto = {.msg_name = (void *)(uintptr_t)&p->remote,
                           .msg_namelen = p->remote_len,
                           .msg_iovlen = 1,
                           .msg_control = control};
    fill_control(&proto, p, tos, 0);
    struct mmsghdr msgs[UDP_IO_SEGMENTS_MAX];
    struct iovec iov[UDP_IO_SEGMENTS_MAX];
    unsigned n = 0;
    for (size_t at = 0; at < len && n < UDP_IO_SEGMENTS_MAX; at += seg, n++) {
        iov[n].iov_base = (void *)(uintptr_t)(buf + at);
        iov[n].iov_len = len - at < seg ? len - at : seg;
        msgs[n].msg_hdr = proto;
        msgs[n].msg_hdr.msg_iov = &iov[n];
    }
    for (unsigned done = 0; done < n;) {
        int rc = sendmmsg(fd, msgs + done, n - done, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (rc < 0)
            return -errno;
        done += (unsigned)rc;
    }
    return 0;
}

int udp_io_send(const struct udp_socket *s, const struct udp_path *p, const void *buf, size_t len,
                size_t seg, uint8_t tos)
{
    if (len <= seg)
        return send_one(s->fd, p, buf, len, 0, tos);
    if (!s->gso)
        return send_plain(s->fd, p, buf, len, seg, tos);
    return send_one(s->fd, p, buf, len, (uint16_t)seg, tos);
}

static int set_df(const struct udp_socket *s, bool df)
{
    int mode = df ? IP_PMTUDISC_PROBE : IP_PMTUDISC_DONT, dont = df ? 1 : 0;
    if (s->family == 4)
        return setsockopt(s->fd, IPPROTO_IP, IP_MTU_DISCOVER, &mode, sizeof mode);
    if (setsockopt(s->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &mode, sizeof mode) != 0)
        return -1;
    return setsockopt(s->fd, IPPROTO_IPV6, IPV6_DONTFRAG, &dont, sizeof dont);
}

int udp_io_send_fragmented(const struct udp_socket *s, const struct udp_path *p, const void *buf,
                           size_t len, uint8_t tos)
{
    if (set_df(s, false) != 0)
        return -errno;
    int rc = send_one(s->fd, p, buf, len, 0, tos);
    /* The DF bit on everything else depends on this; a failure must not pass for success. */
    if (set_df(s, true) != 0)
        return -errno;
    return rc;
}
