#include "agent/control/udp_sockets.h"
#include "agent/control/underlay.h"
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES (4 << 20)

struct udp_ports udp_ports_needed(const struct gateway_config *c)
{
    struct udp_ports p = {0, 0};
    for (size_t i = 0; i < c->n_links; i++) {
        const struct config_link *l = &c->links[i];
        for (unsigned t = 0; t < l->tunnels; t++) {
            uint64_t bit = 1ull << ((l->port_offset + t) % HW_PORTS_PER_GATEWAY);
            if (l->local.family == 6)
                p.v6 |= bit;
            else
                p.v4 |= bit;
        }
    }
    return p;
}

static int set_int(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value);
}

/* Beyond net.core.{r,w}mem_max where CAP_NET_ADMIN allows it. */
static void set_buffers(int fd)
{
    if (set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES) < 0)
        (void)set_int(fd, SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES);
    if (set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER_BYTES) < 0)
        (void)set_int(fd, SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES);
}

/* PROBE: the kernel's cached path MTU, which a forged ICMP can lower, never decides what is sent.
 */
static int set_probe(int fd, unsigned family)
{
    if (family == 4)
        return set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
    if (set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) < 0 ||
        set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) < 0)
        return -1;
    return set_int(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
}

int udp_socket_open(unsigned family, uint16_t port_base, unsigned index, struct err *e)
{
    unsigned port = (unsigned)port_base + index;
    if (port > UINT16_MAX || index >= HW_PORTS_PER_GATEWAY)
        return err_set(e, HW_EINVAL, "udp port %u", port);
    int fd = socket(family == 6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_errno(e, errno, "udp socket");
    int rc = underlay_socket_mark(fd, e);
    if (rc < 0)
        goto fail;
    if (set_probe(fd, family) < 0) {
        rc = err_errno(e, errno, "udp port %u: path MTU options", port);
        goto fail;
    }
    set_buffers(fd);
    struct ipaddr any = {.family = (uint8_t)family};
    struct sockaddr_storage to;
    socklen_t len = ipaddr_to_sockaddr(&any, (uint16_t)port, &to);
    if (bind(fd, (struct sockaddr *)&to, len) < 0) {
        rc = err_errno(e, errno, "udp port %u (IPv%u)", port, family);
        goto fail;
    }
    return fd;
fail:
    (void)close(fd);
    return rc;
}
