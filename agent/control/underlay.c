#include "agent/control/underlay.h"
#include "agent/control/netlink/addr.h"
#include "agent/control/netlink/link.h"
#include "common/esp_suite.h"
#include "common/limits.h"
#include <errno.h>
#include <sys/socket.h>

int underlay_socket_mark(int fd, struct err *e)
{
    uint32_t mark = HW_MARK;
    if (setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark) < 0)
        return err_errno(e, errno, "socket mark (CAP_NET_ADMIN missing?)");
    return 0;
}

struct find {
    const struct ipaddr *addr;
    int ifindex;
    unsigned mtu;
};

static int match_address(const struct nl_addr *a, void *arg, struct err *e)
{
    (void)e;
    struct find *f = arg;
    if (ipaddr_equal(&a->addr, f->addr))
        f->ifindex = a->ifindex;
    return 0;
}

static int match_index(const struct nl_link *l, void *arg, struct err *e)
{
    (void)e;
    struct find *f = arg;
    if (l->index == f->ifindex)
        f->mtu = l->mtu;
    return 0;
}

int underlay_mtu(struct nl *n, const struct ipaddr *local, unsigned *mtu, struct err *e)
{
    struct find f = {.addr = local};
    int rc = nl_addr_each(n, match_address, &f, e);
    if (rc == 0 && f.ifindex > 0)
        rc = nl_link_each(n, match_index, &f, e);
    if (rc < 0)
        return rc;
    char text[IPADDR_TEXT_MAX];
    if (f.mtu == 0)
        return err_set(e, HW_ENOTFOUND, "no interface has the address %s",
                       ipaddr_text(local, text));
    *mtu = f.mtu;
    return 0;
}

unsigned underlay_inner_mtu(unsigned outer_mtu, unsigned family, uint32_t suites)
{
    size_t inner = 65521;
    for (unsigned id = 1; id <= ESP_SUITE_MAX; id++) {
        const struct esp_suite *s = esp_suite_by_id(id);
        if (!s || !(suites >> id & 1))
            continue;
        size_t m = esp_inner_mtu(s, outer_mtu, family);
        inner = m < inner ? m : inner;
    }
    return (unsigned)inner;
}
