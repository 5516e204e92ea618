#include "agent/control/netlink/addr.h"
#include <linux/if_addr.h>

struct parsed {
    unsigned char af;
    struct ipaddr address, local;
    uint32_t flags;
    int bad;
};

static int find_attrs(const struct nlattr *attr, void *arg)
{
    struct parsed *p = arg;
    switch (mnl_attr_get_type(attr)) {
    case IFA_ADDRESS:
        p->bad |= nl_get_ip(attr, p->af, &p->address) < 0;
        break;
    case IFA_LOCAL:
        p->bad |= nl_get_ip(attr, p->af, &p->local) < 0;
        break;
    case IFA_FLAGS:
        if (mnl_attr_validate(attr, MNL_TYPE_U32) < 0)
            p->bad = 1;
        else
            p->flags = mnl_attr_get_u32(attr);
        break;
    default:
        break;
    }
    return MNL_CB_OK;
}

struct each {
    nl_addr_fn fn;
    void *arg;
};

static int take(const struct nlmsghdr *h, void *arg, struct err *e)
{
    const struct each *each = arg;
    if (h->nlmsg_type != RTM_NEWADDR)
        return 0;
    if (h->nlmsg_len < mnl_nlmsg_size(sizeof(struct ifaddrmsg)))
        return err_set(e, HW_EPROTO, "netlink: short address message");
    const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
    if (m->ifa_family != AF_INET && m->ifa_family != AF_INET6)
        return 0;
    struct parsed p = {.af = m->ifa_family, .flags = m->ifa_flags};
    (void)mnl_attr_parse(h, sizeof *m, find_attrs, &p);
    /* On a point-to-point interface IFA_ADDRESS is the other end, IFA_LOCAL ours. */
    struct ipaddr ip = p.local.family ? p.local : p.address;
    if (p.bad || ip.family == 0 || m->ifa_prefixlen > ipaddr_bits(&ip))
        return err_set(e, HW_EPROTO, "netlink: address message not understood");
    struct nl_addr a = {.ifindex = (int)m->ifa_index,
                        .addr = ip,
                        .len = m->ifa_prefixlen,
                        .global = m->ifa_scope != RT_SCOPE_HOST && m->ifa_scope != RT_SCOPE_LINK,
                        .temporary =
                            ip.family == 6 &&
                            (p.flags & (IFA_F_TEMPORARY | IFA_F_DEPRECATED | IFA_F_TENTATIVE)) != 0,
                        .by_kernel = ip.family == 6 && m->ifa_scope == RT_SCOPE_LINK};
    return each->fn(&a, each->arg, e);
}

int nl_addr_each(struct nl *n, nl_addr_fn fn, void *arg, struct err *e)
{
    struct nl_request r;
    void *body;
    struct nlmsghdr *h =
        nl_request_init(&r, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg), &body);
    struct each each = {fn, arg};
    int rc = nl_talk(n, h, take, &each, e);
    if (rc < 0)
        (void)err_wrap(e, "list of addresses");
    return rc;
}

static struct nlmsghdr *request(struct nl_request *r, uint16_t type, uint16_t flags, int ifindex,
                                const struct ipaddr *a, uint8_t len)
{
    void *body;
    struct nlmsghdr *h = nl_request_init(r, type, flags, sizeof(struct ifaddrmsg), &body);
    struct ifaddrmsg *m = body;
    m->ifa_family = nl_family(a);
    m->ifa_prefixlen = len;
    m->ifa_index = (unsigned)ifindex;
    m->ifa_scope = RT_SCOPE_UNIVERSE;
    m->ifa_flags = a->family == 6 ? IFA_F_NODAD : 0;
    nl_put_ip(h, IFA_LOCAL, a);
    nl_put_ip(h, IFA_ADDRESS, a);
    return h;
}

int nl_addr_add(struct nl *n, int ifindex, const struct ipaddr *a, struct err *e)
{
    struct nl_request r;
    int rc = nl_talk(
        n, request(&r, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, ifindex, a, (uint8_t)ipaddr_bits(a)),
        NULL, NULL, e);
    return rc == HW_ECONFLICT ? 0 : rc;
}

int nl_addr_delete(struct nl *n, int ifindex, const struct ipaddr *a, uint8_t len, struct err *e)
{
    struct nl_request r;
    int rc = nl_talk(n, request(&r, RTM_DELADDR, 0, ifindex, a, len), NULL, NULL, e);
    return rc == HW_ENOTFOUND ? 0 : rc;
}
