#include "agent/control/diag/prober.h"
#include "agent/control/underlay.h"
#include "common/clock.h"
#include "common/id.h"
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PACKET_INTERVAL_NS (NS_PER_S / 100)
#define READS_MAX          32 /* a turn of the loop: a flood of ICMP must not hold it */
/* <linux/icmp.h> clashes with the C library's header of the same structs. */
#define SOCKET_ICMP_FILTER 1

struct flight {
    uint64_t sent_ns;
    bool answered;
};

struct prober {
    struct prober_params p;
    const struct prober_handler *handler;
    void *arg;
    struct probe_flow flow;
    int raw_fd;  /* sends whole packets */
    int icmp_fd; /* receives; sends what may be fragmented */
    int udp_fd;  /* holds the source port, and hears a service that answers; -1 for ICMP */
    struct ev_io *icmp_io, *udp_io;
    struct ev_timer *timer;

    struct prober_round round;
    unsigned round_first; /* index of its first probe */
    bool running, stopping;
    uint64_t next_ns; /* the round's own pace */

    struct probe sent[PROBES_MAX];
    struct flight flights[PROBES_MAX];
    unsigned n_sent;
    uint8_t packet[PROBE_PACKET_MAX];
};

uint64_t diag_budget_take(struct diag_budget *b, uint64_t now)
{
    if (b->next_ns > now)
        return b->next_ns - now;
    b->next_ns = now + PACKET_INTERVAL_NS;
    return 0;
}

const struct probe_flow *prober_flow(const struct prober *p)
{
    return &p->flow;
}

unsigned prober_sent(const struct prober *p)
{
    return p->n_sent;
}

/* ---- replies ---- */

static unsigned round_answered(const struct prober *p)
{
    unsigned n = 0;
    for (unsigned i = p->round_first; i < p->n_sent; i++)
        n += p->flights[i].answered;
    return n;
}

static void take_reply(struct prober *p, const struct probe_reply *r)
{
    struct flight *f = &p->flights[r->index];
    bool first = !f->answered;
    f->answered = true;
    p->handler->reply(p->arg, &p->sent[r->index], r, clock_mono_ns() - f->sent_ns, first);
    if (p->running && p->n_sent - p->round_first == p->round.count &&
        round_answered(p) == p->round.count)
        prober_stop(p);
}

/* The hop limit of an ICMPv6 message. */
static unsigned hop_limit(struct msghdr *m)
{
    int v = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)
            memcpy(&v, CMSG_DATA(c), sizeof v);
    return v > 0 && v < 256 ? (unsigned)v : 0;
}

/* False when there is nothing more. */
static bool read_icmp(struct prober *p)
{
    static uint8_t buffer[PROBE_PACKET_MAX];
    uint8_t control[CMSG_SPACE(sizeof(int))];
    struct sockaddr_storage from;
    struct iovec iov = {.iov_base = buffer, .iov_len = sizeof buffer};
    struct msghdr m = {.msg_name = &from,
                       .msg_namelen = sizeof from,
                       .msg_iov = &iov,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof control};
    ssize_t n = recvmsg(p->icmp_fd, &m, MSG_DONTWAIT);
    if (n < 0)
        return errno == EINTR;
    struct probe_reply r;
    struct ipaddr sender;
    bool ours = false;
    if (p->flow.target.family == 4) {
        ours = probe_read4(&p->flow, p->sent, p->n_sent, buffer, (size_t)n, &r);
    } else if (ipaddr_from_sockaddr((const struct sockaddr *)&from, &sender, NULL) == 0) {
        ours = probe_read6(&p->flow, p->sent, p->n_sent, &sender, buffer, (size_t)n, &r);
        r.ttl = hop_limit(&m);
    }
    if (ours)
        take_reply(p, &r);
    return true;
}

static void on_icmp(void *arg, int fd, unsigned events)
{
    struct prober *p = arg;
    (void)fd;
    (void)events;
    for (unsigned i = 0; i < READS_MAX && read_icmp(p); i++)
        ;
}

/* A service on one of the ports answers with a datagram: the target is reached as well. Its port
 * says which probe it was for. */
static void on_udp(void *arg, int fd, unsigned events)
{
    struct prober *p = arg;
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    uint8_t byte;
    (void)events;
    ssize_t n = recvfrom(fd, &byte, sizeof byte, MSG_DONTWAIT, (struct sockaddr *)&from, &len);
    struct probe_reply r = {.kind = PROBE_TARGET};
    uint16_t port;
    if (n < 0 || ipaddr_from_sockaddr((const struct sockaddr *)&from, &r.from, &port) < 0 ||
        !ipaddr_equal(&r.from, &p->flow.target))
        return;
    for (size_t i = p->n_sent; i-- > p->round_first;)
        if (p->flow.port + p->sent[i].number % PROBE_PORTS == port) {
            r.index = i;
            take_reply(p, &r);
            return;
        }
}

/* ---- sockets ---- */

static int option_int(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

static int bound_socket(const struct prober *p, int type, int protocol, struct err *e)
{
    struct sockaddr_storage own;
    int family = p->flow.target.family == 4 ? AF_INET : AF_INET6;
    socklen_t len = ipaddr_to_sockaddr(&p->flow.source, 0, &own);
    int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    if (fd < 0)
        return err_errno(e, errno, "socket (CAP_NET_RAW missing?)");
    int rc = p->p.marked ? underlay_socket_mark(fd, e) : 0;
    if (rc == 0 && bind(fd, (const struct sockaddr *)&own, len) < 0)
        rc = err_errno(e, errno, "bind to the source address");
    if (rc < 0) {
        (void)close(fd);
        return rc;
    }
    return fd;
}

/* The address and MTU by which the kernel's routing sends. */
static int ask_route(struct prober *p, unsigned *mtu, struct err *e)
{
    struct sockaddr_storage to, own;
    bool v4 = p->p.target.family == 4;
    int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), value = 0;
    socklen_t len = sizeof own, value_len = sizeof value;
    if (fd < 0)
        return err_errno(e, errno, "socket");
    int rc = p->p.marked ? underlay_socket_mark(fd, e) : 0;
    if (rc == 0 && p->p.source.family) {
        socklen_t own_len = ipaddr_to_sockaddr(&p->p.source, 0, &own);
        if (bind(fd, (const struct sockaddr *)&own, own_len) < 0)
            rc = err_errno(e, errno, "bind to the source address");
    }
    socklen_t to_len = ipaddr_to_sockaddr(&p->p.target, 9, &to);
    if (rc == 0 && connect(fd, (const struct sockaddr *)&to, to_len) < 0) {
        char text[IPADDR_TEXT_MAX];
        rc = err_set(e, HW_ENOTFOUND, "No route to %s.", ipaddr_text(&p->p.target, text));
    }
    if (rc == 0 && (getsockname(fd, (struct sockaddr *)&own, &len) < 0 ||
                    ipaddr_from_sockaddr((struct sockaddr *)&own, &p->flow.source, NULL) < 0))
        rc = err_set(e, HW_EFAIL, "the route has no source address");
    if (rc == 0 &&
        getsockopt(fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &value,
                   &value_len) == 0 &&
        value > 0)
        *mtu = (unsigned)value;
    (void)close(fd);
    return rc;
}

unsigned prober_device_mtu(struct prober *p)
{
    unsigned mtu = 0;
    struct nl *n;
    /* On the underlay the interface's alone: a route's may be what a forged ICMP error said. */
    if (p->p.marked && nl_open(&n, NULL) == 0) {
        if (underlay_mtu(n, &p->flow.source, &mtu, NULL) < 0)
            mtu = 0;
        nl_close(n);
    }
    if (mtu == 0)
        (void)ask_route(p, &mtu, NULL);
    return mtu > UINT16_MAX ? UINT16_MAX : mtu;
}

static int filter_icmp4(int fd)
{
    uint32_t unwanted = ~(1u << 0 | 1u << 3 | 1u << 11); /* echo reply, unreachable, exceeded */
    return setsockopt(fd, SOL_RAW, SOCKET_ICMP_FILTER, &unwanted, sizeof unwanted);
}

static int filter_icmp6(int fd)
{
    static const uint8_t wanted[] = {ICMP6_DST_UNREACH, ICMP6_PACKET_TOO_BIG, ICMP6_TIME_EXCEEDED,
                                     ICMP6_ECHO_REPLY};
    struct icmp6_filter f;
    ICMP6_FILTER_SETBLOCKALL(&f);
    for (size_t i = 0; i < sizeof wanted; i++)
        ICMP6_FILTER_SETPASS(wanted[i], &f);
    return setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &f, sizeof f) < 0 ||
                   option_int(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1) < 0
               ? -1
               : 0;
}

/* IP_PMTUDISC_PROBE: what ICMP once said about a path does not hold a probe back. */
static int open_sockets(struct prober *p, struct err *e)
{
    bool v4 = p->flow.target.family == 4;
    int level = v4 ? IPPROTO_IP : IPPROTO_IPV6, discover = v4 ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER;
    p->raw_fd = bound_socket(p, SOCK_RAW, IPPROTO_RAW, e);
    if (p->raw_fd < 0)
        return p->raw_fd;
    p->icmp_fd = bound_socket(p, SOCK_RAW, v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6, e);
    if (p->icmp_fd < 0)
        return p->icmp_fd;
    if (option_int(p->raw_fd, level, discover, IP_PMTUDISC_PROBE) < 0 ||
        option_int(p->icmp_fd, level, discover, IP_PMTUDISC_DONT) < 0 ||
        (v4 ? filter_icmp4(p->icmp_fd) : filter_icmp6(p->icmp_fd)) < 0)
        return err_errno(e, errno, "raw socket");
    p->icmp_io = evloop_io_add(p->p.loop, p->icmp_fd, EV_READ, on_icmp, p);
    if (!p->icmp_io)
        return err_set(e, HW_ENOMEM, "out of memory");
    if (!p->p.udp)
        return 0;
    struct sockaddr_storage own;
    socklen_t len = sizeof own;
    struct ipaddr ignored;
    p->udp_fd = bound_socket(p, SOCK_DGRAM, 0, e);
    if (p->udp_fd < 0)
        return p->udp_fd;
    if (getsockname(p->udp_fd, (struct sockaddr *)&own, &len) < 0 ||
        ipaddr_from_sockaddr((struct sockaddr *)&own, &ignored, &p->flow.ident) < 0)
        return err_errno(e, errno, "source port");
    p->udp_io = evloop_io_add(p->p.loop, p->udp_fd, EV_READ, on_udp, p);
    return p->udp_io ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

/* ---- rounds ---- */

static ssize_t send_probe(struct prober *p, const struct probe *probe)
{
    struct sockaddr_storage to;
    socklen_t len = ipaddr_to_sockaddr(&p->flow.target, 0, &to);
    bool v4 = p->flow.target.family == 4;
    size_t header = probe_header_len(&p->flow);
    probe_build(&p->flow, probe, p->packet);
    if (probe->dont_fragment)
        return sendto(p->raw_fd, p->packet, probe->size, 0, (const struct sockaddr *)&to, len);
    (void)option_int(p->icmp_fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_UNICAST_HOPS,
                     probe->ttl);
    return sendto(p->icmp_fd, p->packet + header, probe->size - header, 0,
                  (const struct sockaddr *)&to, len);
}

static void end_round(struct prober *p, const struct err *why)
{
    p->running = p->stopping = false;
    evloop_timer_disarm(p->timer);
    p->handler->round_over(p->arg, why);
}

/* What the kernel says at once about a packet. 0: it is on its way, or lost like any other. */
static int judge_errno(struct prober *p, unsigned index, int errnum, struct err *e)
{
    char text[IPADDR_TEXT_MAX];
    unsigned mtu;
    switch (errnum) {
    case EMSGSIZE:
        mtu = prober_device_mtu(p);
        if (mtu >= p->sent[index].size)
            mtu = 0;
        take_reply(p,
                   &(struct probe_reply){
                       .kind = PROBE_TOO_BIG, .index = index, .from = p->flow.source, .mtu = mtu});
        return 0;
    case ENETUNREACH:
    case EHOSTUNREACH:
        return err_set(e, HW_ENOTFOUND, "No route to %s.", ipaddr_text(&p->flow.target, text));
    case EPERM:
    case EACCES:
        return err_set(e, HW_EFORBIDDEN, "this gateway's own packet filter refuses the probe");
    default:
        return 0;
    }
}

static int send_next(struct prober *p, uint64_t now, struct err *e)
{
    if (p->n_sent == PROBES_MAX)
        return err_set(e, HW_ETOOBIG, "%u packets are sent, no more are allowed", PROBES_MAX);
    unsigned index = p->n_sent++;
    uint16_t ip_id = (uint16_t)rand_u32();
    p->sent[index] = (struct probe){.number = (uint16_t)index,
                                    .ttl = p->round.ttl,
                                    .size = p->round.size,
                                    .dont_fragment = p->round.dont_fragment,
                                    .ip_id = ip_id ? ip_id : 1};
    p->flights[index] = (struct flight){.sent_ns = clock_mono_ns()};
    p->next_ns = now + p->round.interval_ns;
    return send_probe(p, &p->sent[index]) < 0 ? judge_errno(p, index, errno, e) : 0;
}

static void on_timer(void *arg)
{
    struct prober *p = arg;
    uint64_t now = clock_mono_ns();
    struct err e = {0};
    if (!p->running)
        return;
    bool all = p->n_sent - p->round_first == p->round.count;
    if (p->stopping || (all && now >= p->flights[p->n_sent - 1].sent_ns + p->round.timeout_ns)) {
        end_round(p, NULL);
        return;
    }
    if (!all) {
        uint64_t wait = p->next_ns > now ? p->next_ns - now : diag_budget_take(p->p.budget, now);
        if (wait) {
            evloop_timer_arm(p->timer, wait);
            return;
        }
        if (send_next(p, now, &e) < 0) {
            end_round(p, &e);
            return;
        }
        all = p->n_sent - p->round_first == p->round.count;
    }
    if (p->stopping)
        evloop_timer_arm(p->timer, 0);
    else
        evloop_timer_arm(p->timer, all ? p->round.timeout_ns : p->round.interval_ns);
}

void prober_start(struct prober *p, const struct prober_round *r)
{
    p->round = *r;
    p->round_first = p->n_sent;
    p->running = true;
    p->stopping = false;
    p->next_ns = clock_mono_ns() + r->delay_ns;
    evloop_timer_arm(p->timer, r->delay_ns);
}

void prober_stop(struct prober *p)
{
    if (!p->running)
        return;
    p->stopping = true;
    evloop_timer_arm(p->timer, 0);
}

/* ---- life ---- */

int prober_new(const struct prober_params *params, const struct prober_handler *h, void *arg,
               struct prober **out, struct err *e)
{
    struct prober *p = calloc(1, sizeof *p);
    unsigned mtu;
    if (!p)
        return err_set(e, HW_ENOMEM, "out of memory");
    p->p = *params;
    p->handler = h;
    p->arg = arg;
    p->raw_fd = p->icmp_fd = p->udp_fd = -1;
    p->flow = (struct probe_flow){.target = params->target,
                                  .udp = params->udp,
                                  .ident = (uint16_t)rand_u32(),
                                  .port = params->port,
                                  .nonce = (uint64_t)rand_u32() << 32 | rand_u32()};
    int rc = ask_route(p, &mtu, e);
    if (rc == 0)
        rc = open_sockets(p, e);
    if (rc == 0 && !(p->timer = evloop_timer_add(params->loop, on_timer, p)))
        rc = err_set(e, HW_ENOMEM, "out of memory");
    if (rc < 0) {
        prober_free(p);
        return rc;
    }
    *out = p;
    return 0;
}

static void close_watched(struct ev_io *io, int fd)
{
    if (io)
        evloop_io_remove(io);
    if (fd >= 0)
        (void)close(fd);
}

void prober_free(struct prober *p)
{
    if (!p)
        return;
    close_watched(p->icmp_io, p->icmp_fd);
    close_watched(p->udp_io, p->udp_fd);
    close_watched(NULL, p->raw_fd);
    if (p->timer)
        evloop_timer_remove(p->timer);
    free(p);
}
