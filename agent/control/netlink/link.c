#include "agent/control/netlink/link.h"
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <string.h>

static int find_tun(const struct nlattr *attr, void *arg)
{
    struct nl_link_tun *t = arg;
    uint16_t type = mnl_attr_get_type(attr);
    if (type == IFLA_TUN_OWNER || type == IFLA_TUN_NUM_QUEUES) {
        if (mnl_attr_validate(attr, MNL_TYPE_U32) < 0)
            return MNL_CB_ERROR;
        *(type == IFLA_TUN_OWNER ? &t->owner : &t->queues) = mnl_attr_get_u32(attr);
        return MNL_CB_OK;
    }
    if (mnl_attr_get_payload_len(attr) < 1)
        return MNL_CB_OK;
    uint8_t value = mnl_attr_get_u8(attr);
    switch (type) {
    case IFLA_TUN_TYPE:
        t->tun = value == IFF_TUN;
        break;
    case IFLA_TUN_PI:
        t->packet_info = value != 0;
        break;
    case IFLA_TUN_VNET_HDR:
        t->vnet_hdr = value != 0;
        break;
    case IFLA_TUN_PERSIST:
        t->persistent = value != 0;
        break;
    case IFLA_TUN_MULTI_QUEUE:
        t->multi_queue = value != 0;
        break;
    default:
        break;
    }
    return MNL_CB_OK;
}

struct link_info {
    bool kind_tun;
    const struct nlattr *data;
};

static int find_info(const struct nlattr *attr, void *arg)
{
    struct link_info *i = arg;
    if (mnl_attr_get_type(attr) == IFLA_INFO_KIND && mnl_attr_validate(attr, MNL_TYPE_STRING) >= 0)
        i->kind_tun = strncmp(mnl_attr_get_str(attr), "tun", mnl_attr_get_payload_len(attr)) == 0;
    if (mnl_attr_get_type(attr) == IFLA_INFO_DATA)
        i->data = attr;
    return MNL_CB_OK;
}

static int find_attrs(const struct nlattr *attr, void *arg)
{
    struct nl_link *l = arg;
    struct link_info info = {false, NULL};
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
        (void)mnl_attr_parse_nested(attr, find_info, &info);
        if (info.kind_tun && info.data)
            (void)mnl_attr_parse_nested(info.data, find_tun, &l->tun);
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
                        .loopback = (m->ifi_flags & IFF_LOOPBACK) != 0,
                        .tun.owner = UINT32_MAX};
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
