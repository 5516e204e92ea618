#include "agent/control/netlink/link.h"
#include <linux/if_link.h>
#include <string.h>

static int find_kind(const struct nlattr *attr, void *arg)
{
    struct nl_link *l = arg;
    if (mnl_attr_get_type(attr) == IFLA_INFO_KIND && mnl_attr_validate(attr, MNL_TYPE_STRING) >= 0)
        l->tun = strncmp(mnl_attr_get_str(attr), "tun", mnl_attr_get_payload_len(attr)) == 0;
    return MNL_CB_OK;
}

static int find_attrs(const struct nlattr *attr, void *arg)
{
    struct nl_link *l = arg;
    switch (mnl_attr_get_type(attr)) {
    case IFLA_IFNAME:
        if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0 ||
            mnl_attr_get_payload_len(attr) > sizeof l->name)
            return MNL_CB_ERROR;
        memcpy(l->name, mnl_attr_get_str(attr), mnl_attr_get_payload_len(attr));
        break;
    case IFLA_MTU:
        if (mnl_attr_validate(attr, MNL_TYPE_U32) < 0)
            return MNL_CB_ERROR;
        l->mtu = mnl_attr_get_u32(attr);
        break;
    case IFLA_LINKINFO:
        (void)mnl_attr_parse_nested(attr, find_kind, l);
        break;
    default:
        break;
    }
    return MNL_CB_OK;
}

struct each {
    nl_link_fn fn;
    void *arg;
};

static int take(const struct nlmsghdr *h, void *arg, struct err *e)
{
    const struct each *each = arg;
    if (h->nlmsg_type != RTM_NEWLINK)
        return 0;
    if (h->nlmsg_len < mnl_nlmsg_size(sizeof(struct ifinfomsg)))
        return err_set(e, HW_EPROTO, "netlink: short link message");
    const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);
    struct nl_link l = {.index = m->ifi_index,
                        .up = (m->ifi_flags & IFF_UP) != 0,
                        .loopback = (m->ifi_flags & IFF_LOOPBACK) != 0};
    if (mnl_attr_parse(h, sizeof *m, find_attrs, &l) < 0)
        return err_set(e, HW_EPROTO, "netlink: link message not understood");
    return each->fn(&l, each->arg, e);
}

static int copy_one(const struct nl_link *l, void *arg, struct err *e)
{
    (void)e;
    *(struct nl_link *)arg = *l;
    return 0;
}

int nl_link_get(struct nl *n, const char *name, struct nl_link *out, struct err *e)
{
    struct nl_request r;
    void *body;
    struct nlmsghdr *h = nl_request_init(&r, RTM_GETLINK, 0, sizeof(struct ifinfomsg), &body);
    mnl_attr_put_strz(h, IFLA_IFNAME, name);
    struct nl_link l = {.index = 0};
    struct each each = {copy_one, &l};
    int rc = nl_talk(n, h, take, &each, e);
    if (rc < 0) {
        (void)err_wrap(e, "interface %s", name);
        return rc;
    }
    if (l.index == 0)
        return err_set(e, HW_ENOTFOUND, "interface %s: not found", name);
    *out = l;
    return 0;
}

int nl_link_each(struct nl *n, nl_link_fn fn, void *arg, struct err *e)
{
    struct nl_request r;
    void *body;
    struct nlmsghdr *h =
        nl_request_init(&r, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg), &body);
    struct each each = {fn, arg};
    int rc = nl_talk(n, h, take, &each, e);
    if (rc < 0)
        (void)err_wrap(e, "list of interfaces");
    return rc;
}

int nl_link_set(struct nl *n, int index, unsigned mtu, bool up, struct err *e)
{
    struct nl_request r;
    void *body;
    struct nlmsghdr *h = nl_request_init(&r, RTM_NEWLINK, 0, sizeof(struct ifinfomsg), &body);
    struct ifinfomsg *m = body;
    m->ifi_index = index;
    m->ifi_change = IFF_UP;
    m->ifi_flags = up ? IFF_UP : 0;
    mnl_attr_put_u32(h, IFLA_MTU, mtu);
    return nl_talk(n, h, NULL, NULL, e);
}

int nl_link_delete(struct nl *n, int index, struct err *e)
{
    struct nl_request r;
    void *body;
    struct nlmsghdr *h = nl_request_init(&r, RTM_DELLINK, 0, sizeof(struct ifinfomsg), &body);
    ((struct ifinfomsg *)body)->ifi_index = index;
    return nl_talk(n, h, NULL, NULL, e);
}
