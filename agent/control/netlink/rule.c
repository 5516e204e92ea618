#include "agent/control/netlink/rule.h"
#include "common/limits.h"
#include <linux/fib_rules.h>
#include <string.h>

struct parsed {
    unsigned char af;
    struct ipaddr src, dst;
    uint32_t priority, table, mark, mask;
    bool iif_lo;
    bool other; /* an attribute that neither shape has */
    int bad;
};

static int find_attrs(const struct nlattr *attr, void *arg)
{
    struct parsed *p = arg;
    uint16_t type = mnl_attr_get_type(attr);
    bool number =
        type == FRA_PRIORITY || type == FRA_TABLE || type == FRA_FWMARK || type == FRA_FWMASK;
    if (number && mnl_attr_validate(attr, MNL_TYPE_U32) < 0) {
        p->bad = 1;
        return MNL_CB_OK;
    }
    switch (type) {
    case FRA_SRC:
        p->bad |= nl_get_ip(attr, p->af, &p->src) < 0;
        break;
    case FRA_DST:
        p->bad |= nl_get_ip(attr, p->af, &p->dst) < 0;
        break;
    case FRA_PRIORITY:
        p->priority = mnl_attr_get_u32(attr);
        break;
    case FRA_TABLE:
        p->table = mnl_attr_get_u32(attr);
        break;
    case FRA_FWMARK:
        p->mark = mnl_attr_get_u32(attr);
        break;
    case FRA_FWMASK:
        p->mask = mnl_attr_get_u32(attr);
        break;
    case FRA_IIFNAME:
        p->iif_lo = mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0 &&
                    strcmp(mnl_attr_get_str(attr), "lo") == 0;
        break;
    case FRA_OIFNAME:
    case FRA_UID_RANGE:
    case FRA_IP_PROTO:
    case FRA_SPORT_RANGE:
    case FRA_DPORT_RANGE:
        p->other = true;
        break;
    default:
        break;
    }
    return MNL_CB_OK;
}

/* Which of our two shapes a rule has; anything else under our priorities is told apart as foreign.
 */
static struct nl_rule shape_of(const struct parsed *p, const struct fib_rule_hdr *m)
{
    struct nl_rule r = {.priority = p->priority};
    unsigned bits = p->af == AF_INET6 ? 128 : 32;
    bool invert = (m->flags & FIB_RULE_INVERT) != 0;
    r.own.family = p->af == AF_INET6 ? 6 : 4;
    r.foreign = true;
    if (m->action != FR_ACT_TO_TBL || p->other)
        return r;
    if (p->priority == HW_RULE_PRIO_OWN && !invert && p->iif_lo && p->mark == 0 &&
        m->src_len == bits && m->dst_len == bits && p->table == RT_TABLE_MAIN) {
        r.own = p->src;
        r.peer = p->dst;
        r.foreign = false;
    }
    if (p->priority == HW_RULE_PRIO_TABLE && invert && !p->iif_lo && p->mark == HW_MARK &&
        p->mask == UINT32_MAX && m->src_len == 0 && m->dst_len == 0 && p->table == HW_TABLE)
        r.foreign = false;
    return r;
}

struct each {
    nl_rule_fn fn;
    void *arg;
};

static int take(const struct nlmsghdr *h, void *arg, struct err *e)
{
    const struct each *each = arg;
    if (h->nlmsg_type != RTM_NEWRULE)
        return 0;
    if (h->nlmsg_len < mnl_nlmsg_size(sizeof(struct fib_rule_hdr)))
        return err_set(e, HW_EPROTO, "netlink: short rule message");
    const struct fib_rule_hdr *m = mnl_nlmsg_get_payload(h);
    if (m->family != AF_INET && m->family != AF_INET6)
        return 0;
    struct parsed p = {.af = m->family, .table = m->table};
    (void)mnl_attr_parse(h, sizeof *m, find_attrs, &p);
    if (p.bad)
        return err_set(e, HW_EPROTO, "netlink: rule message not understood");
    if (p.priority != HW_RULE_PRIO_OWN && p.priority != HW_RULE_PRIO_TABLE)
        return 0;
    struct nl_rule r = shape_of(&p, m);
    return each->fn(&r, each->arg, e);
}

int nl_rule_each(struct nl *n, nl_rule_fn fn, void *arg, struct err *e)
{
    static const unsigned char families[] = {AF_INET, AF_INET6};
    for (size_t i = 0; i < sizeof families; i++) {
        struct nl_request q;
        void *body;
        struct nlmsghdr *h =
            nl_request_init(&q, RTM_GETRULE, NLM_F_DUMP, sizeof(struct fib_rule_hdr), &body);
        ((struct fib_rule_hdr *)body)->family = families[i];
        struct each each = {fn, arg};
        int rc = nl_talk(n, h, take, &each, e);
        if (rc < 0) {
            (void)err_wrap(e, "policy rules");
            return rc;
        }
    }
    return 0;
}

static struct nlmsghdr *request(struct nl_request *q, uint16_t type, uint16_t flags,
                                const struct nl_rule *r)
{
    void *body;
    struct nlmsghdr *h = nl_request_init(q, type, flags, sizeof(struct fib_rule_hdr), &body);
    struct fib_rule_hdr *m = body;
    m->family = nl_family(&r->own);
    m->action = FR_ACT_TO_TBL;
    m->table = RT_TABLE_UNSPEC;
    mnl_attr_put_u32(h, FRA_PRIORITY, r->priority);
    if (r->peer.family) {
        m->src_len = (uint8_t)ipaddr_bits(&r->own);
        m->dst_len = (uint8_t)ipaddr_bits(&r->peer);
        nl_put_ip(h, FRA_SRC, &r->own);
        nl_put_ip(h, FRA_DST, &r->peer);
        mnl_attr_put_strz(h, FRA_IIFNAME, "lo");
        mnl_attr_put_u32(h, FRA_TABLE, RT_TABLE_MAIN);
    } else {
        m->flags = FIB_RULE_INVERT;
        mnl_attr_put_u32(h, FRA_FWMARK, HW_MARK);
        mnl_attr_put_u32(h, FRA_FWMASK, UINT32_MAX);
        mnl_attr_put_u32(h, FRA_TABLE, HW_TABLE);
    }
    mnl_attr_put_u8(h, FRA_PROTOCOL, 87);
    return h;
}

int nl_rule_add(struct nl *n, const struct nl_rule *r, struct err *e)
{
    struct nl_request q;
    int rc = nl_talk(n, request(&q, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, r), NULL, NULL, e);
    if (rc == HW_ECONFLICT)
        return 0;
    if (rc < 0)
        (void)err_wrap(e, "policy rule %u", r->priority);
    return rc;
}

int nl_rule_delete(struct nl *n, const struct nl_rule *r, struct err *e)
{
    struct nl_request q;
    int rc = nl_talk(n, request(&q, RTM_DELRULE, 0, r), NULL, NULL, e);
    if (rc == HW_ENOTFOUND)
        return 0;
    if (rc < 0)
        (void)err_wrap(e, "policy rule %u", r->priority);
    return rc;
}
