#include "agent/control/tun_create.h"
#include "agent/control/netlink/link.h"
#include "common/cleanup.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TUN_FLAGS (IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE)

/* Opens one queue of hawser0, making the device if there is none. Returns the fd or a negative
 * code. */
static int open_queue(struct err *e)
{
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(e, errno, "/dev/net/tun");
    struct ifreq r = {.ifr_flags = TUN_FLAGS};
    memcpy(r.ifr_name, HW_TUN_NAME, sizeof HW_TUN_NAME);
    if (ioctl(fd, TUNSETIFF, &r) < 0) {
        int rc = err_errno(e, errno, "attach to " HW_TUN_NAME);
        (void)close(fd);
        return rc;
    }
    return fd;
}

/* Owner and persistence, which is what outlives us; both calls change nothing that is so already.
 */
static int make_lasting(int fd, uid_t owner, struct err *e)
{
    if (ioctl(fd, TUNSETOWNER, (unsigned long)owner) < 0)
        return err_errno(e, errno, "owner of " HW_TUN_NAME);
    if (ioctl(fd, TUNSETPERSIST, 1ul) < 0)
        return err_errno(e, errno, "persistence of " HW_TUN_NAME);
    return 0;
}

static int create(struct nl *n, uid_t owner, int *ifindex, struct err *e)
{
    auto_close int fd = open_queue(e);
    if (fd < 0)
        return fd;
    int rc = make_lasting(fd, owner, e);
    if (rc < 0)
        return rc;
    struct nl_link l;
    rc = nl_link_get(n, HW_TUN_NAME, &l, e);
    if (rc < 0)
        return rc;
    *ifindex = l.index;
    return 0;
}

int tun_ensure(struct nl *n, uid_t owner, int *ifindex, bool *created, struct err *e)
{
    struct nl_link l;
    int rc = nl_link_get(n, HW_TUN_NAME, &l, e);
    if (rc == 0) {
        if (l.tun.tun && l.tun.multi_queue && l.tun.vnet_hdr && !l.tun.packet_info &&
            l.tun.persistent && l.tun.owner == owner) {
            *ifindex = l.index;
            *created = false;
            return 0;
        }
        rc = nl_link_delete(n, l.index, e);
        if (rc < 0) {
            (void)err_wrap(e, "replace " HW_TUN_NAME);
            return rc;
        }
    } else if (rc != HW_ENOTFOUND) {
        return rc;
    }
    rc = create(n, owner, ifindex, e);
    if (rc == 0)
        *created = true;
    return rc;
}

int tun_queues_open(struct tun_queues *q, unsigned n, int ifindex, struct err *e)
{
    if (n == 0 || n > HW_WORKERS_MAX)
        return err_set(e, HW_EINVAL, "%u TUN queues", n);
    tun_queues_close(q);
    q->ifindex = ifindex;
    while (q->n < n) {
        int fd = open_queue(e);
        if (fd < 0) {
            unsigned at = q->n;
            tun_queues_close(q);
            (void)err_wrap(e, "queue %u", at);
            return fd;
        }
        q->fd[q->n++] = fd;
    }
    return 0;
}

void tun_queues_close(struct tun_queues *q)
{
    for (unsigned i = 0; i < q->n; i++)
        (void)close(q->fd[i]);
    q->n = 0;
}
