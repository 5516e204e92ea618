#include "tests/unit/control/keying/fake_dataplane.h"
#include "common/unixsock.h"
#include "tests/unit/control/keying/must.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void send_msg(struct fake_dataplane *d, enum dp_type type, uint32_t seq, const void *body,
                     size_t len, int fd)
{
    uint8_t buf[DP_MSG_MAX];
    struct dp_header h;
    dp_header_init(&h, type, seq, (uint32_t)len);
    memcpy(buf, &h, sizeof h);
    if (len)
        memcpy(buf + sizeof h, body, len);
    if (d->fd >= 0)
        (void)unixsock_send(d->fd, buf, sizeof h + len, &fd, fd >= 0 ? 1 : 0, NULL);
}

static void ack_now(struct fake_dataplane *d, uint32_t seq, int status)
{
    struct dp_ack ack = {.status = status};
    (void)snprintf(ack.text, sizeof ack.text, "%s", status ? "told to refuse" : "");
    send_msg(d, DP_ACK, seq, &ack, sizeof ack, -1);
}

static void ack(struct fake_dataplane *d, uint32_t seq, int status)
{
    if (!d->hold) {
        ack_now(d, seq, status);
        return;
    }
    must(d->n_held < FAKE_HELD_MAX);
    d->held[d->n_held++] = (struct fake_ack){seq, status};
}

void fake_dataplane_release(struct fake_dataplane *d)
{
    d->hold = false;
    for (unsigned i = 0; i < d->n_held; i++)
        ack_now(d, d->held[i].seq, d->held[i].status);
    d->n_held = 0;
}

static void note(struct fake_dataplane *d, char what)
{
    if (d->n_order < sizeof d->order - 1)
        d->order[d->n_order++] = what;
}

static unsigned inbound_of(const struct fake_dataplane *d, const struct hw_id *link,
                           unsigned tunnel)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->n_sas; i++)
        n += d->sas[i].direction == DP_DIR_IN && d->sas[i].sa.tunnel == tunnel &&
             id_equal(&d->sas[i].link, link);
    return n;
}

static void install(struct fake_dataplane *d, const struct dp_sa_install *m)
{
    note(d, m->direction == DP_DIR_IN ? 'i' : 'o');
    for (unsigned i = 0; i < m->count; i++) {
        must(d->n_sas < FAKE_SAS_MAX);
        d->sas[d->n_sas++] = (struct fake_sa){.link = m->link,
                                              .peer_boot = m->peer_boot,
                                              .peer_cert = m->peer_cert,
                                              .epoch = m->epoch,
                                              .direction = m->direction,
                                              .suite = m->suite,
                                              .esn = m->esn,
                                              .sa = m->sa[i]};
        unsigned n = inbound_of(d, &m->link, m->sa[i].tunnel);
        if (n > d->max_inbound)
            d->max_inbound = n;
    }
}

static void switch_to(struct fake_dataplane *d, const struct dp_sa_switch *m)
{
    note(d, 's');
    for (unsigned i = 0; i < d->n_sas; i++)
        if (d->sas[i].direction == DP_DIR_OUT && id_equal(&d->sas[i].link, &m->link))
            d->sas[i].active = d->sas[i].epoch == m->epoch;
}

static void retire(struct fake_dataplane *d, const struct dp_sa_retire *m)
{
    note(d, 'r');
    unsigned kept = 0;
    for (unsigned i = 0; i < d->n_sas; i++) {
        const struct fake_sa *s = &d->sas[i];
        bool gone = id_equal(&s->link, &m->link) && (m->epoch == 0 || s->epoch == m->epoch) &&
                    (s->direction == DP_DIR_IN ? m->in : m->out);
        if (!gone)
            d->sas[kept++] = *s;
    }
    d->n_sas = kept;
}

/* Other ports or another family: the tunnels are new ones, without keys. */
static void set_link(struct fake_dataplane *d, const struct dp_link_set *m)
{
    unsigned i = 0;
    while (i < d->n_links && !id_equal(&d->links[i].link, &m->link))
        i++;
    must(i < FAKE_LINKS_MAX);
    if (i < d->n_links && (d->links[i].port_offset != m->port_offset ||
                           d->links[i].local.family != m->local.family)) {
        struct dp_sa_retire all = {.link = m->link, .in = 1, .out = 1};
        retire(d, &all);
        memset(d->state[i], 0, sizeof d->state[i]);
    }
    d->links[i] = *m;
    if (i == d->n_links)
        memset(d->state[d->n_links++], 0, sizeof d->state[0]);
}

static void remove_link(struct fake_dataplane *d, const struct dp_link_remove *m)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < d->n_links; i++)
        if (!id_equal(&d->links[i].link, &m->link)) {
            memmove(d->state[kept], d->state[i], sizeof d->state[0]);
            d->links[kept++] = d->links[i];
        }
    d->n_links = kept;
}

static void attach_udp(struct fake_dataplane *d, const struct dp_attach_udp *m)
{
    unsigned i = 0;
    while (i < d->n_udps &&
           (d->udps[i].family != m->family || d->udps[i].port_index != m->port_index))
        i++;
    must(i < 2 * HW_PORTS_PER_GATEWAY);
    d->udps[i] = *m;
    if (i == d->n_udps)
        d->n_udps++;
}

static void dump(struct fake_dataplane *d, uint32_t seq)
{
    for (unsigned i = 0; i < d->tun_queues; i++) {
        struct dp_dump_tun t = {.queue = (uint16_t)i, .queues = d->hello.workers, .mtu = 1500};
        send_msg(d, DP_DUMP_TUN, seq, &t, sizeof t, -1);
    }
    for (unsigned i = 0; i < d->n_udps; i++)
        send_msg(d, DP_DUMP_UDP, seq, &d->udps[i], sizeof d->udps[i], -1);
    if (d->has_node)
        send_msg(d, DP_DUMP_NODE, seq, &d->node, sizeof d->node, -1);
    for (unsigned i = 0; i < d->n_links; i++) {
        struct dp_dump_link l = {.set = d->links[i]};
        memcpy(l.state, d->state[i], sizeof l.state);
        send_msg(d, DP_DUMP_LINK, seq, &l, sizeof l, -1);
    }
    for (unsigned i = 0; i < d->n_sas; i++) {
        const struct fake_sa *s = &d->sas[i];
        struct dp_dump_sa out = {.link = s->link,
                                 .peer_boot = s->peer_boot,
                                 .peer_cert = s->peer_cert,
                                 .epoch = s->epoch,
                                 .age_ns = 1000000000,
                                 .spi = s->sa.spi,
                                 .tunnel = s->sa.tunnel,
                                 .direction = s->direction,
                                 .suite = s->suite,
                                 .active = s->active,
                                 .esn = s->esn};
        send_msg(d, DP_DUMP_SA, seq, &out, sizeof out, -1);
    }
    struct dp_dump_fib fib = {.generation = d->generation};
    send_msg(d, DP_DUMP_FIB, seq, &fib, sizeof fib, -1);
    send_msg(d, DP_DUMP_END, seq, NULL, 0, -1);
}

static void close_tun(struct fake_dataplane *d)
{
    for (unsigned i = 0; i < d->tun_queues; i++)
        (void)close(d->tun_fd[i]);
    d->tun_queues = 0;
}

/* Queues come in order; a new queue 0 begins a new set. */
static void attach_tun(struct fake_dataplane *d, const struct dp_attach_tun *m, int fd)
{
    if (m->queue == 0)
        close_tun(d);
    must(m->queue == d->tun_queues);
    d->tun_fd[d->tun_queues++] = fd;
}

/* Returns the fd if it is kept, else −1. */
static int take(struct fake_dataplane *d, const uint8_t *msg, int fd)
{
    struct dp_header h;
    memcpy(&h, msg, sizeof h);
    d->count[h.type & 255]++;
    if (h.type == DP_DUMP) {
        dump(d, h.seq);
        return -1;
    }
    if (h.type == d->fail_type) {
        ack(d, h.seq, d->fail_status);
        return -1;
    }
    static union {
        struct dp_sa_install install;
        struct dp_sa_switch sw;
        struct dp_sa_retire retire;
        struct dp_link_set link;
        struct dp_link_remove gone;
        struct dp_attach_tun tun;
        struct dp_attach_udp udp;
        struct dp_node_set node;
        struct dp_fib_commit fib;
        uint8_t raw[DP_MSG_MAX];
    } body;
    memcpy(body.raw, msg + sizeof h, h.length - sizeof h);
    switch (h.type) {
    case DP_SA_INSTALL:
        install(d, &body.install);
        break;
    case DP_SA_SWITCH:
        switch_to(d, &body.sw);
        break;
    case DP_SA_RETIRE:
        retire(d, &body.retire);
        break;
    case DP_LINK_SET:
        set_link(d, &body.link);
        break;
    case DP_LINK_REMOVE:
        remove_link(d, &body.gone);
        break;
    case DP_ATTACH_TUN:
        attach_tun(d, &body.tun, fd);
        break;
    case DP_ATTACH_UDP:
        attach_udp(d, &body.udp);
        break;
    case DP_NODE_SET:
        d->has_node = true;
        d->node = body.node;
        break;
    case DP_FIB_COMMIT:
        d->generation = body.fib.generation;
        break;
    default:
        break;
    }
    ack(d, h.seq, 0);
    return h.type == DP_ATTACH_TUN ? fd : -1;
}

static void on_readable(void *arg, int fd, unsigned events)
{
    struct fake_dataplane *d = arg;
    (void)events;
    static uint8_t buf[DP_MSG_MAX];
    int fds[UNIXSOCK_FDS_MAX], n_fds = UNIXSOCK_FDS_MAX;
    ssize_t n = unixsock_recv(fd, buf, sizeof buf, fds, &n_fds, NULL);
    if (n == HW_EAGAIN)
        return;
    if (n <= 0) {
        fake_dataplane_drop(d);
        return;
    }
    struct err e;
    if (dp_validate(buf, (size_t)n, n_fds, 1, &e) != 0) {
        (void)fprintf(stderr, "fake dataplane: %s\n", e.text);
        abort();
    }
    int kept = take(d, buf, n_fds > 0 ? fds[0] : -1);
    for (int i = 0; i < n_fds; i++)
        if (fds[i] != kept)
            (void)close(fds[i]);
}

static void on_connect(void *arg, int fd, unsigned events)
{
    struct fake_dataplane *d = arg;
    (void)events;
    int got = unixsock_accept(fd, NULL);
    if (got < 0)
        return;
    fake_dataplane_drop(d);
    d->connections++;
    d->fd = got;
    d->io = evloop_io_add(d->loop, got, EV_READ, on_readable, d);
    if (d->no_hello)
        return;
    int memfd = memfd_create("counters", MFD_CLOEXEC);
    send_msg(d, DP_HELLO, 0, &d->hello, sizeof d->hello, memfd);
    (void)close(memfd);
}

void fake_dataplane_start(struct fake_dataplane *d, struct evloop *loop)
{
    static unsigned number;
    *d = (struct fake_dataplane){.loop = loop, .fd = -1, .generation = 7};
    (void)snprintf(d->path, sizeof d->path, "/tmp/hawser-fake-dp-%d-%u.sock", (int)getpid(),
                   number++);
    d->hello =
        (struct dp_hello){.boot = id_new(),
                          .workers = 2,
                          .provider = DP_PROVIDER_LIBCRYPTO,
                          .suites = 1u << ESP_SUITE_AES_256_GCM | 1u << ESP_SUITE_AES_128_GCM,
                          .build = "fake"};
    struct err e;
    d->listen_fd = unixsock_listen(d->path, 0600, (gid_t)-1, &e);
    must(d->listen_fd >= 0);
    d->listen_io = evloop_io_add(loop, d->listen_fd, EV_READ, on_connect, d);
}

void fake_dataplane_drop(struct fake_dataplane *d)
{
    if (d->fd < 0)
        return;
    evloop_io_remove(d->io);
    (void)close(d->fd);
    d->fd = -1;
    d->n_held = 0;
}

void fake_dataplane_reboot(struct fake_dataplane *d)
{
    fake_dataplane_drop(d);
    d->hello.boot = id_new();
    d->n_sas = 0;
    d->n_links = 0;
    close_tun(d);
    d->n_udps = 0;
    d->has_node = false;
    d->generation = 0;
}

void fake_dataplane_stop(struct fake_dataplane *d)
{
    fake_dataplane_drop(d);
    close_tun(d);
    evloop_io_remove(d->listen_io);
    (void)close(d->listen_fd);
    (void)unlink(d->path);
}

void fake_dataplane_tunnel(struct fake_dataplane *d, const struct hw_id *link, unsigned tunnel,
                           enum dp_tunnel_state state)
{
    unsigned i = 0;
    while (i < d->n_links && !id_equal(&d->links[i].link, link))
        i++;
    if (i == d->n_links || tunnel >= d->links[i].tunnels || d->state[i][tunnel] == state)
        return;
    d->state[i][tunnel] = (uint8_t)state;
    struct dp_tunnel_event ev = {
        .link = *link, .tunnel = (uint16_t)tunnel, .state = (uint8_t)state, .mono_ns = 1};
    send_msg(d, DP_TUNNEL_STATE, 0, &ev, sizeof ev, -1);
}

void fake_dataplane_raw(struct fake_dataplane *d, const void *msg, size_t len)
{
    (void)unixsock_send(d->fd, msg, len, NULL, 0, NULL);
}

const struct fake_sa *fake_dataplane_find(const struct fake_dataplane *d, const struct hw_id *link,
                                          uint64_t epoch, unsigned tunnel,
                                          enum dp_direction direction)
{
    for (unsigned i = 0; i < d->n_sas; i++) {
        const struct fake_sa *s = &d->sas[i];
        if (id_equal(&s->link, link) && s->epoch == epoch && s->sa.tunnel == tunnel &&
            s->direction == direction)
            return s;
    }
    return NULL;
}

unsigned fake_dataplane_count_sas(const struct fake_dataplane *d, const struct hw_id *link,
                                  uint64_t epoch, enum dp_direction direction)
{
    unsigned n = 0;
    for (unsigned i = 0; i < d->n_sas; i++)
        n += id_equal(&d->sas[i].link, link) && (epoch == 0 || d->sas[i].epoch == epoch) &&
             d->sas[i].direction == direction;
    return n;
}

void fake_dataplane_sa_event(struct fake_dataplane *d, enum dp_type type, const struct hw_id *link,
                             uint64_t epoch, unsigned tunnel, enum dp_direction direction)
{
    const struct fake_sa *found = fake_dataplane_find(d, link, epoch, tunnel, direction);
    struct dp_sa_event ev = {.link = *link,
                             .epoch = epoch,
                             .spi = found ? found->sa.spi : 256,
                             .tunnel = (uint16_t)tunnel,
                             .direction = (uint8_t)direction};
    for (unsigned i = 0; type == DP_SA_FIRST_RX && i < d->n_sas; i++) {
        struct fake_sa *s = &d->sas[i];
        if (!id_equal(&s->link, link) || s->sa.tunnel != tunnel)
            continue;
        if (s->direction == DP_DIR_IN && s->epoch == epoch)
            s->active = true;
        if (s->direction == DP_DIR_OUT)
            s->active = s->epoch == epoch;
    }
    send_msg(d, type, 0, &ev, sizeof ev, -1);
}
