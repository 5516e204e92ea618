#include "tests/unit/control/keying/pair.h"
#include "common/clock.h"
#include "tests/unit/control/keying/must.h"
#include "tests/unit/suite.h"
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct pair pair;

static bool enter_namespace(void)
{
    int flags = CLONE_NEWNET | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (unshare(flags) != 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq ifr = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int rc = ioctl(fd, SIOCSIFFLAGS, &ifr);
    (void)close(fd);
    return rc == 0;
}

int pair_run(const char *suite, CU_TestInfo *tests)
{
    if (!enter_namespace()) {
        (void)puts("no network namespace may be made here: not run");
        return 77;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    return suite_run(suite, tests);
}

/* ---- one node ---- */

static void on_connected(void *arg, const struct dp_hello *hello, bool new_boot);
static void on_lost(void *arg, const char *why);
static void on_event(void *arg, const struct dp_event *ev);
static const struct dp_client_handler client_calls = {on_connected, on_lost, on_event};

static void on_set(void *arg, int status, const char *text)
{
    (void)arg;
    (void)text;
    must(status == 0 || status == HW_ECLOSED);
}

static void set_link(struct node *n)
{
    struct dp_link_set m = {.link = n->link.id,
                            .peer = n->link.peer_id,
                            .local = dp_addr_from_ip(&n->link.local),
                            .remote = dp_addr_from_ip(&n->link.remote),
                            .peer_overlay4 = {.family = 4, .b = {100, 127, 0, 9}},
                            .remote_port_base = n->link.remote_port_base,
                            .port_offset = (uint8_t)n->link.port_offset,
                            .tunnels = (uint8_t)n->link.tunnels,
                            .class_ = DP_CLASS_ATTACHMENT,
                            .enabled = n->link.enabled && n->mtu >= HW_LINK_MTU_MIN,
                            .missed = 3,
                            .mtu = n->mtu < HW_LINK_MTU_MIN ? HW_LINK_MTU_MIN : n->mtu,
                            .interval_ms = 1000};
    (void)dp_client_request(n->client, DP_LINK_SET, &m, sizeof m, -1, on_set, NULL, NULL);
}

static void on_dump(void *arg, int status, const struct dp_dump *dump)
{
    struct node *n = arg;
    if (status != 0)
        return;
    set_link(n);
    keying_dataplane_up(n->keying, dp_client_hello(n->client), dump);
    if (n->late_config)
        node_set_config(n);
}

static void on_connected(void *arg, const struct dp_hello *hello, bool new_boot)
{
    struct node *n = arg;
    (void)hello;
    (void)new_boot;
    int rc = dp_client_dump(n->client, on_dump, n, NULL);
    must(rc == 0);
}

static void on_lost(void *arg, const char *why)
{
    struct node *n = arg;
    (void)why;
    if (n->keying)
        keying_dataplane_lost(n->keying);
}

static void on_event(void *arg, const struct dp_event *ev)
{
    struct node *n = arg;
    keying_event(n->keying, ev);
}

static void on_link_changed(void *arg, const struct hw_id *link)
{
    struct node *n = arg;
    (void)link;
    n->changes++;
}

static void on_peer_mtu(void *arg, const struct hw_id *link, const struct prefix *prefix,
                        uint32_t mtu)
{
    struct node *n = arg;
    (void)link;
    (void)prefix;
    n->announced = mtu;
}

static int64_t on_now(void *arg)
{
    const struct node *n = arg;
    return clock_wall_s() + n->clock_skew;
}

static bool on_clock_trusted(void *arg)
{
    return !((const struct node *)arg)->clock_alone;
}

static const struct keying_handler keying_calls = {on_link_changed, on_peer_mtu, on_now,
                                                   on_clock_trusted};

void node_set_config(struct node *n)
{
    n->config =
        (struct gateway_config){.gateway_id = n->id,
                                .port_base = n == &pair.low ? PAIR_LOW_PORT : PAIR_HIGH_PORT,
                                .peers = &n->peer,
                                .n_peers = 1,
                                .links = &n->link,
                                .n_links = 1};
    if (dp_client_connected(n->client))
        set_link(n);
    int rc = keying_set_config(n->keying, &n->config, &n->mtu, NULL);
    must(rc == 0);
}

void node_start(struct node *n)
{
    int rc = dp_client_new(pair.loop, n->dp.path, getuid(), &client_calls, n, &n->client, NULL);
    must(rc == 0);
    rc = keying_new(pair.loop, n->client, &n->settings, &keying_calls, n, &n->keying, NULL);
    must(rc == 0);
    struct err e;
    rc = keying_set_identity(n->keying, n->cert.cert_pem, n->cert.key_pem, pair.ca.pem, &e);
    must(rc == 0);
    if (!n->late_config)
        node_set_config(n);
}

void node_stop(struct node *n)
{
    keying_free(n->keying);
    n->keying = NULL;
    dp_client_free(n->client);
    n->client = NULL;
}

/* ---- the pair ---- */

static void fill_node(struct node *n, const char *name, const char *local, const char *remote,
                      const struct node *other, uint16_t remote_port, const struct hw_id *link)
{
    n->name = name;
    n->mtu = 1438;
    n->peer.gateway_id = other->id;
    n->link = (struct config_link){.id = *link,
                                   .kind = LINK_ATTACHMENT,
                                   .peer_id = other->id,
                                   .enabled = true,
                                   .tunnels = 8,
                                   .remote_port_base = remote_port,
                                   .dial = true,
                                   .peer_dials = true,
                                   .suites = 1u << ESP_SUITE_AES_256_GCM,
                                   .suite_order = {ESP_SUITE_AES_256_GCM},
                                   .n_suites = 1};
    int rc = ipaddr_parse(local, &n->link.local) | ipaddr_parse(remote, &n->link.remote);
    must(rc == 0);
    n->peer.endpoints[0] = n->link.remote;
    n->peer.n_endpoints = 1;
    test_cert_make(&pair.ca, &n->id, -3600, 86400, &n->cert);
    fake_dataplane_start(&n->dp, pair.loop);
}

void pair_init(void)
{
    memset(&pair, 0, sizeof pair);
    int rc = evloop_new(&pair.loop, NULL);
    must(rc == 0);
    test_ca_make(&pair.ca);
    struct hw_id link = id_new();
    pair.low.id = id_new();
    pair.high.id = id_new();
    pair.low.id.b[0] = 1;
    pair.high.id.b[0] = 2;
    fill_node(&pair.low, "low", PAIR_LOW_ADDRESS, PAIR_HIGH_ADDRESS, &pair.high, PAIR_HIGH_PORT,
              &link);
    fill_node(&pair.high, "high", PAIR_HIGH_ADDRESS, PAIR_LOW_ADDRESS, &pair.low, PAIR_LOW_PORT,
              &link);
    pair.traffic = true;
}

static void done_node(struct node *n)
{
    node_stop(n);
    fake_dataplane_stop(&n->dp);
    test_cert_done(&n->cert);
}

void pair_done(void)
{
    done_node(&pair.low);
    done_node(&pair.high);
    test_ca_done(&pair.ca);
    evloop_free(pair.loop);
}

/* What `from` sends arrives at `to` if it has the SA: the first packet of each is an event there.
 */
static void carry(struct node *from, struct node *to)
{
    for (unsigned i = 0; i < from->dp.n_sas; i++) {
        const struct fake_sa *out = &from->dp.sas[i];
        if (out->direction != DP_DIR_OUT || !out->active)
            continue;
        const struct fake_sa *in =
            fake_dataplane_find(&to->dp, &out->link, out->epoch, out->sa.tunnel, DP_DIR_IN);
        if (in && !in->active && in->sa.spi == out->sa.spi &&
            memcmp(&in->sa, &out->sa, sizeof in->sa) == 0)
            fake_dataplane_sa_event(&to->dp, DP_SA_FIRST_RX, &out->link, out->epoch, out->sa.tunnel,
                                    DP_DIR_IN);
    }
}

static bool crosses(const struct node *from, const struct node *to, unsigned tunnel)
{
    for (unsigned i = 0; i < from->dp.n_sas; i++) {
        const struct fake_sa *out = &from->dp.sas[i];
        if (out->direction != DP_DIR_OUT || !out->active || out->sa.tunnel != tunnel)
            continue;
        const struct fake_sa *in =
            fake_dataplane_find(&to->dp, &out->link, out->epoch, tunnel, DP_DIR_IN);
        return in && in->sa.spi == out->sa.spi;
    }
    return false;
}

/* A tunnel whose packets cross both ways has its probes answered, another has not. */
static void probe(void)
{
    for (unsigned t = 0; t < HW_TUNNELS_PER_LINK_MAX; t++) {
        bool ok = crosses(&pair.low, &pair.high, t) && crosses(&pair.high, &pair.low, t);
        enum dp_tunnel_state state = ok ? DP_TUNNEL_UP : DP_TUNNEL_DOWN;
        fake_dataplane_tunnel(&pair.low.dp, &pair.low.link.id, t, state);
        fake_dataplane_tunnel(&pair.high.dp, &pair.high.link.id, t, state);
    }
}

static void exchange_packets(void)
{
    if (!pair.traffic)
        return;
    carry(&pair.low, &pair.high);
    carry(&pair.high, &pair.low);
    probe();
}

static void stop_loop(void *arg)
{
    (void)arg;
    evloop_stop(pair.loop);
}

void pair_turns(unsigned n)
{
    struct ev_timer *t = evloop_timer_add(pair.loop, stop_loop, NULL);
    while (n-- > 0) {
        evloop_timer_arm(t, 0);
        (void)evloop_run(pair.loop, NULL);
        exchange_packets();
    }
    evloop_timer_remove(t);
}

bool pair_until(bool (*met)(void), unsigned seconds)
{
    uint64_t end = clock_mono_ns() + seconds * NS_PER_S;
    struct ev_timer *t = evloop_timer_add(pair.loop, stop_loop, NULL);
    bool ok;
    while (!(ok = met()) && clock_mono_ns() < end) {
        evloop_timer_arm(t, NS_PER_MS);
        (void)evloop_run(pair.loop, NULL);
        exchange_packets();
    }
    evloop_timer_remove(t);
    return ok;
}

/* Shuts every TCP connection of the process, as a network that fails would. */
void pair_cut_tcp(void)
{
    for (int fd = 3; fd < 1024; fd++) {
        int type = 0, domain = 0;
        socklen_t len = sizeof type;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) != 0 || type != SOCK_STREAM)
            continue;
        len = sizeof domain;
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0 || domain != AF_INET)
            continue;
        int listening = 0;
        len = sizeof listening;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) == 0 && !listening)
            (void)shutdown(fd, SHUT_RDWR);
    }
}

static bool same_keys(const struct node *from, const struct node *to, uint64_t epoch, unsigned n)
{
    for (unsigned t = 0; t < n; t++) {
        const struct fake_sa *out =
            fake_dataplane_find(&from->dp, &from->link.id, epoch, t, DP_DIR_OUT);
        const struct fake_sa *in = fake_dataplane_find(&to->dp, &to->link.id, epoch, t, DP_DIR_IN);
        if (!out || !in || !out->active || memcmp(&out->sa, &in->sa, sizeof in->sa) != 0 ||
            out->suite != in->suite || out->esn != in->esn)
            return false;
    }
    return true;
}

bool pair_keyed(void)
{
    struct keying_link_status l = node_status(&pair.low), h = node_status(&pair.high);
    return l.keyed && h.keyed && l.epoch == h.epoch && l.tunnels == h.tunnels && l.tunnels > 0 &&
           same_keys(&pair.low, &pair.high, l.epoch, l.tunnels) &&
           same_keys(&pair.high, &pair.low, l.epoch, l.tunnels);
}

struct keying_link_status node_status(const struct node *n)
{
    struct keying_link_status s = {0};
    if (n->keying)
        (void)keying_status(n->keying, &n->link.id, &s);
    return s;
}

uint64_t node_epoch(const struct node *n)
{
    return node_status(n).epoch;
}
