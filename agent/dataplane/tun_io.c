#include "agent/dataplane/tun_io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* In kernels since 6.2; the build machine's headers may be older. */
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20u
#define TUN_F_USO6 0x40u
#endif

#define OFFLOAD_TSO ((unsigned long)(TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN))
#define OFFLOAD_USO (OFFLOAD_TSO | TUN_F_USO4 | TUN_F_USO6)

static int check_queue(int fd, struct err *e)
{
    struct ifreq ifr;
    memset(&ifr, 0, sizeof ifr);
    if (ioctl(fd, TUNGETIFF, &ifr) != 0)
        return err_errno(e, errno, "not a TUN queue");
    if (!(ifr.ifr_flags & IFF_TUN) || !(ifr.ifr_flags & IFF_NO_PI) ||
        !(ifr.ifr_flags & IFF_VNET_HDR))
        return err_set(e, HW_EINVAL, "TUN queue without IFF_NO_PI and IFF_VNET_HDR");
    int size = 0;
    if (ioctl(fd, TUNGETVNETHDRSZ, &size) != 0)
        return err_errno(e, errno, "TUN header size");
    if (size != 10)
        return err_set(e, HW_EINVAL, "TUN header of %d bytes, not 10", size);
    return 0;
}

int tun_io_prepare(int fd, bool plain, bool *uso, struct err *e)
{
    if (check_queue(fd, e) != 0)
        return HW_EINVAL;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return err_errno(e, errno, "make the TUN queue non-blocking");
    *uso = false;
    if (plain)
        return ioctl(fd, TUNSETOFFLOAD, 0ul) == 0 ? 0
                                                  : err_errno(e, errno, "turn TUN offloads off");
    if (ioctl(fd, TUNSETOFFLOAD, OFFLOAD_USO) == 0) {
        *uso = true;
        return 0;
    }
    if (ioctl(fd, TUNSETOFFLOAD, OFFLOAD_TSO) != 0)
        return err_errno(e, errno, "turn TUN offloads on");
    return 0;
}

ssize_t tun_io_read(int fd, void *buf, size_t cap)
{
    ssize_t n = read(fd, buf, cap);
    return n < 0 ? -errno : n;
}

int tun_io_write(int fd, const struct iovec *iov, int iovcnt)
{
    return writev(fd, iov, iovcnt) < 0 ? -errno : 0;
}
