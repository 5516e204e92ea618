#include "agent/control/netlink/nl.h"
#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DUMP_TRIES 3

struct nl {
    struct mnl_socket *socket;
    unsigned port;
    uint32_t seq; /* of the newest request */
    char *buf;    /* answers; the kernel fills at most 32 KiB a read */
    size_t cap;
};

int nl_open(struct nl **out, struct err *e)
{
    struct nl *n = calloc(1, sizeof *n);
    if (!n)
        return err_set(e, HW_ENOMEM, "netlink: out of memory");
    n->cap = 32768;
    n->buf = malloc(n->cap);
    if (!n->buf) {
        nl_close(n);
        return err_set(e, HW_ENOMEM, "netlink: out of memory");
    }
    n->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
    if (!n->socket || mnl_socket_bind(n->socket, 0, MNL_SOCKET_AUTOPID) < 0) {
        int rc = err_errno(e, errno, "netlink socket");
        nl_close(n);
        return rc;
    }
    n->port = mnl_socket_get_portid(n->socket);
    int on = 1;
    /* Both are comforts: error texts, and dumps filtered by the kernel. Callers filter again. */
    (void)mnl_socket_setsockopt(n->socket, NETLINK_EXT_ACK, &on, sizeof on);
    (void)mnl_socket_setsockopt(n->socket, NETLINK_GET_STRICT_CHK, &on, sizeof on);
    *out = n;
    return 0;
}

void nl_close(struct nl *n)
{
    if (!n)
        return;
    if (n->socket)
        mnl_socket_close(n->socket);
    free(n->buf);
    free(n);
}

struct nlmsghdr *nl_request_init(struct nl_request *r, uint16_t type, uint16_t flags, size_t extra,
                                 void **body)
{
    struct nlmsghdr *h = mnl_nlmsg_put_header(r->buf);
    h->nlmsg_type = type;
    h->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    /* NLM_F_REPLACE and NLM_F_EXCL share its two bits, one each. */
    if ((flags & NLM_F_DUMP) != NLM_F_DUMP)
        h->nlmsg_flags |= NLM_F_ACK;
    *body = mnl_nlmsg_put_extra_header(h, extra);
    return h;
}

static int code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOENT:
    case ENODEV:
    case ESRCH:
    case EADDRNOTAVAIL:
        return HW_ENOTFOUND;
    case EEXIST:
        return HW_ECONFLICT;
    case EPERM:
    case EACCES:
        return HW_EFORBIDDEN;
    default:
        return HW_EFAIL;
    }
}

struct ext_ack {
    const char *text;
};

static int find_text(const struct nlattr *attr, void *arg)
{
    struct ext_ack *a = arg;
    if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
        mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
        a->text = mnl_attr_get_str(attr);
    return MNL_CB_OK;
}

/* Answers 0 for an acknowledgement, else the kernel's refusal in words. */
static int judge_error(const struct nlmsghdr *h, struct err *e)
{
    const struct nlmsgerr *err = mnl_nlmsg_get_payload(h);
    if (h->nlmsg_len < mnl_nlmsg_size(sizeof *err))
        return err_set(e, HW_EPROTO, "netlink: short error message");
    if (err->error == 0)
        return 0;
    int errnum = err->error < 0 ? -err->error : err->error;
    struct ext_ack ack = {NULL};
    if (h->nlmsg_flags & NLM_F_ACK_TLVS) {
        size_t skip = sizeof *err;
        if (!(h->nlmsg_flags & NLM_F_CAPPED))
            skip += mnl_nlmsg_get_payload_len(h) >= skip && err->msg.nlmsg_len >= sizeof err->msg
                        ? err->msg.nlmsg_len - sizeof err->msg
                        : 0;
        if (skip <= mnl_nlmsg_get_payload_len(h))
            (void)mnl_attr_parse(h, (unsigned)skip, find_text, &ack);
    }
    (void)err_errno(e, errnum, "netlink%s%s", ack.text ? ": " : "", ack.text ? ack.text : "");
    if (e)
        e->code = code_of_errno(errnum);
    return code_of_errno(errnum);
}

enum { MORE = 1 };

/* Works through one read's messages: MORE, 0 at the end, or a negative code. */
static int judge_batch(struct nl *n, size_t len, nl_answer_fn fn, void *arg, bool *interrupted,
                       struct err *e)
{
    int left = (int)len;
    const struct nlmsghdr *h = (const struct nlmsghdr *)n->buf;
    for (; mnl_nlmsg_ok(h, left); h = mnl_nlmsg_next(h, &left)) {
        if (h->nlmsg_seq != n->seq || h->nlmsg_pid != n->port)
            continue; /* the rest of a request that was given up */
        if (h->nlmsg_flags & NLM_F_DUMP_INTR)
            *interrupted = true;
        if (h->nlmsg_type == NLMSG_ERROR)
            return judge_error(h, e);
        if (h->nlmsg_type == NLMSG_DONE)
            return 0;
        if (h->nlmsg_type < NLMSG_MIN_TYPE || !fn)
            continue;
        int rc = fn(h, arg, e);
        if (rc < 0)
            return rc;
    }
    return MORE;
}

int nl_talk(struct nl *n, struct nlmsghdr *h, nl_answer_fn fn, void *arg, struct err *e)
{
    h->nlmsg_seq = ++n->seq;
    if (mnl_socket_sendto(n->socket, h, h->nlmsg_len) < 0)
        return err_errno(e, errno, "netlink send");
    bool interrupted = false;
    for (;;) {
        ssize_t got = mnl_socket_recvfrom(n->socket, n->buf, n->cap);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(e, errno, "netlink receive");
        int rc = judge_batch(n, (size_t)got, fn, arg, &interrupted, e);
        if (rc < 0)
            return rc;
        if (rc == 0)
            break;
    }
    if (interrupted)
        return err_set(e, HW_EAGAIN, "netlink: the table changed while it was read");
    return 0;
}

unsigned char nl_family(const struct ipaddr *a)
{
    return a->family == 6 ? AF_INET6 : AF_INET;
}

void nl_put_ip(struct nlmsghdr *h, uint16_t type, const struct ipaddr *a)
{
    mnl_attr_put(h, type, a->family == 6 ? 16 : 4, a->b);
}

int nl_get_ip(const struct nlattr *attr, unsigned char af, struct ipaddr *out)
{
    size_t want = af == AF_INET6 ? 16 : 4;
    if ((af != AF_INET && af != AF_INET6) || mnl_attr_get_payload_len(attr) != want)
        return HW_EPROTO;
    struct ipaddr a = {.family = af == AF_INET6 ? 6 : 4};
    memcpy(a.b, mnl_attr_get_payload(attr), want);
    *out = a;
    return 0;
}

int nl_monitor_open(int *fd, struct err *e)
{
    int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (s < 0)
        return err_errno(e, errno, "netlink monitor");
    struct sockaddr_nl to = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE |
                     RTMGRP_IPV6_ROUTE | RTMGRP_IPV4_RULE | (1u << (RTNLGRP_IPV6_RULE - 1)) |
                     (1u << (RTNLGRP_IPV4_NETCONF - 1)) | (1u << (RTNLGRP_IPV6_NETCONF - 1))};
    if (bind(s, (struct sockaddr *)&to, sizeof to) < 0) {
        int rc = err_errno(e, errno, "netlink monitor");
        (void)close(s);
        return rc;
    }
    *fd = s;
    return 0;
}

bool nl_monitor_drain(int fd)
{
    bool changed = false;
    char buf[8192];
    for (;;) {
        ssize_t got = recv(fd, buf, sizeof buf, MSG_TRUNC);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return changed || errno == ENOBUFS;
        changed = true;
    }
}
