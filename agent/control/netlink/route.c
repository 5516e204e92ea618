#include "agent/control/netlink/route.h"

struct parsed {
    struct nl_route route;
    unsigned char af;
    int bad;
};

static int find_metrics(const struct nlattr *attr, void *arg)
{
    struct parsed *p = arg;
    if (mnl_attr_get_type(attr) == RTAX_MTU && mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
        p->route.mtu = mnl_attr_get_u32(attr);
    return MNL_CB_OK;
}

static int find_attrs(const struct nlattr *attr, void *arg)
{
    struct parsed *p = arg;
    struct nl_route *r = &p->route;
    uint16_t type = mnl_attr_get_type(attr);
    bool number = type == RTA_TABLE || type == RTA_OIF || type == RTA_PRIORITY;
    if (number && mnl_attr_validate(attr, MNL_TYPE_U32) < 0) {
        p->bad = 1;
        return MNL_CB_OK;
    }
    switch (type) {
    case RTA_DST:
        p->bad |= nl_get_ip(attr, p->af, &r->prefix.addr) < 0;
        break;
    case RTA_TABLE:
        r->table = mnl_attr_get_u32(attr);
        break;
    case RTA_PRIORITY:
        r->metric = mnl_attr_get_u32(attr);
        break;
    case RTA_OIF:
        r->ifindex = (int)mnl_attr_get_u32(attr);
        break;
    case RTA_GATEWAY:
    case RTA_VIA:
    case RTA_MULTIPATH:
        r->gateway = true;
        break;
    case RTA_METRICS:
        (void)mnl_attr_parse_nested(attr, find_metrics, p);
        break;
    default:
        break;
    }
    return MNL_CB_OK;
}

struct each {
    uint32_t table;
    nl_route_fn fn;
    void *arg;
};

static int take(const struct nlmsghdr *h, void *arg, struct err *e)
{
    const struct each *each = arg;
    if (h->nlmsg_type != RTM_NEWROUTE)
        return 0;
    if (h->nlmsg_len < mnl_nlmsg_size(sizeof(struct rtmsg)))
        return err_set(e, HW_EPROTO, "netlink: short route message");
    const struct rtmsg *m = mnl_nlmsg_get_payload(h);
    if ((m->rtm_family != AF_INET && m->rtm_family != AF_INET6) || (m->rtm_flags & RTM_F_CLONED) ||
        (m->rtm_type != RTN_UNICAST && m->rtm_type != RTN_UNREACHABLE))
        return 0;
    struct parsed p = {.af = m->rtm_family};
    p.route.table = m->rtm_table;
    p.route.prefix.addr.family = m->rtm_family == AF_INET6 ? 6 : 4;
    p.route.prefix.len = m->rtm_dst_len;
    p.route.unreachable = m->rtm_type == RTN_UNREACHABLE;
    (void)mnl_attr_parse(h, sizeof *m, find_attrs, &p);
    if (p.bad || p.route.prefix.len > ipaddr_bits(&p.route.prefix.addr))
        return err_set(e, HW_EPROTO, "netlink: route message not understood");
    if (p.route.unreachable)
        p.route.ifindex = 0; /* IPv6 names lo here */
    if (p.route.table != each->table)
        return 0;
    return each->fn(&p.route, each->arg, e);
}

static int dump(struct nl *n, unsigned char af, uint32_t table, nl_route_fn fn, void *arg,
                struct err *e)
{
    struct nl_request r;
    void *body;
    struct nlmsghdr *h = nl_request_init(&r, RTM_GETROUTE, NLM_F_DUMP, sizeof(struct rtmsg), &body);
    ((struct rtmsg *)body)->rtm_family = af;
    mnl_attr_put_u32(h, RTA_TABLE, table);
    struct each each = {table, fn, arg};
    int rc = nl_talk(n, h, take, &each, e);
    /* A table that holds nothing yet does not exist. */
    if (rc == HW_ENOTFOUND)
        return 0;
    if (rc < 0)
        (void)err_wrap(e, "routes of table %u", table);
    return rc;
}

int nl_route_each(struct nl *n, uint32_t table, nl_route_fn fn, void *arg, struct err *e)
{
    int rc = dump(n, AF_INET, table, fn, arg, e);
    return rc < 0 ? rc : dump(n, AF_INET6, table, fn, arg, e);
}

static struct nlmsghdr *request(struct nl_request *q, uint16_t type, uint16_t flags,
                                const struct nl_route *r)
{
    void *body;
    struct nlmsghdr *h = nl_request_init(q, type, flags, sizeof(struct rtmsg), &body);
    struct rtmsg *m = body;
    m->rtm_family = nl_family(&r->prefix.addr);
    m->rtm_dst_len = r->prefix.len;
    m->rtm_table = RT_TABLE_UNSPEC;
    m->rtm_protocol = NL_ROUTE_PROTOCOL;
    m->rtm_type = r->unreachable ? RTN_UNREACHABLE : RTN_UNICAST;
    m->rtm_scope = r->unreachable || r->prefix.addr.family == 6 ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
    if (r->prefix.len > 0)
        nl_put_ip(h, RTA_DST, &r->prefix.addr);
    mnl_attr_put_u32(h, RTA_TABLE, r->table);
    mnl_attr_put_u32(h, RTA_PRIORITY, r->metric);
    if (!r->unreachable)
        mnl_attr_put_u32(h, RTA_OIF, (uint32_t)r->ifindex);
    if (r->mtu) {
        struct nlattr *metrics = mnl_attr_nest_start(h, RTA_METRICS);
        mnl_attr_put_u32(h, RTAX_MTU, r->mtu);
        mnl_attr_nest_end(h, metrics);
    }
    return h;
}

int nl_route_set(struct nl *n, const struct nl_route *r, struct err *e)
{
    struct nl_request q;
    int rc = nl_talk(n, request(&q, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, r), NULL, NULL, e);
    if (rc < 0) {
        char text[PREFIX_TEXT_MAX];
        (void)err_wrap(e, "route %s", prefix_text(&r->prefix, text));
    }
    return rc;
}

int nl_route_delete(struct nl *n, const struct nl_route *r, struct err *e)
{
    struct nl_request q;
    struct nl_route bare = *r;
    bare.mtu = 0; /* metrics are no part of what identifies a route */
    int rc = nl_talk(n, request(&q, RTM_DELROUTE, 0, &bare), NULL, NULL, e);
    if (rc == HW_ENOTFOUND)
        return 0;
    if (rc < 0) {
        char text[PREFIX_TEXT_MAX];
        (void)err_wrap(e, "route %s", prefix_text(&r->prefix, text));
    }
    return rc;
}

struct best {
    int ifindex;
    uint64_t rank; /* family, then metric */
};

static int consider(const struct nl_route *r, void *arg, struct err *e)
{
    (void)e;
    struct best *b = arg;
    uint64_t rank = ((uint64_t)r->prefix.addr.family << 32) | r->metric;
    if (r->prefix.len == 0 && !r->unreachable && r->ifindex > 0 &&
        (b->ifindex == 0 || rank < b->rank))
        *b = (struct best){r->ifindex, rank};
    return 0;
}

int nl_route_default_interface(struct nl *n, int *ifindex, struct err *e)
{
    struct best b = {0, 0};
    int rc = nl_route_each(n, RT_TABLE_MAIN, consider, &b, e);
    if (rc < 0)
        return rc;
    if (b.ifindex == 0)
        return err_set(e, HW_ENOTFOUND, "no default route");
    *ifindex = b.ifindex;
    return 0;
}
