/* The seam over a socketpair, with a real engine of two workers behind it. */
#include "agent/dataplane/dp_server.h"
#include "common/clock.h"
#include "common/dp_stats.h"
#include "common/unixsock.h"
#include "tests/unit/dataplane/packet_test.h"
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

struct fixture {
    struct evloop *loop;
    struct engine *engine;
    struct dp_server *server;
    struct ev_timer *timer;
    int agent; /* our end */
    uint32_t seq;
    /* the last message taken in */
    struct dp_header h;
    _Alignas(8) uint8_t body[1024];
    size_t len;
    int fd;
};

static void stop_turn(void *arg)
{
    evloop_stop(arg);
}

/* Lets the server run until our end is readable. */
static void serve_until_answer(struct fixture *f)
{
    struct err e = {0};
    for (int i = 0; i < 500; i++) {
        struct pollfd p = {.fd = f->agent, .events = POLLIN};
        if (poll(&p, 1, 0) == 1)
            return;
        evloop_timer_arm(f->timer, 2 * NS_PER_MS);
        CU_ASSERT_EQUAL_FATAL(evloop_run(f->loop, &e), 0);
    }
    CU_FAIL_FATAL("no answer");
}

static ssize_t take(struct fixture *f)
{
    struct err e = {0};
    _Alignas(8) uint8_t msg[2048];
    int fds[1], n = 1;
    serve_until_answer(f);
    ssize_t got = unixsock_recv(f->agent, msg, sizeof msg, fds, &n, &e);
    if (got < (ssize_t)sizeof f->h)
        return got;
    CU_ASSERT_EQUAL(dp_validate(msg, (size_t)got, n, 0, &e), 0);
    memcpy(&f->h, msg, sizeof f->h);
    f->len = (size_t)got - sizeof f->h;
    memcpy(f->body, msg + sizeof f->h, f->len);
    f->fd = n == 1 ? fds[0] : -1;
    return got;
}

static void connect_agent(struct fixture *f)
{
    int pair[2];
    CU_ASSERT_EQUAL_FATAL(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    f->agent = pair[0];
    dp_server_adopt(f->server, pair[1]);
}

static void setup_for(struct fixture *f, uid_t uid)
{
    struct err e = {0};
    memset(f, 0, sizeof *f);
    struct engine_options eo = {.workers = 2, .provider = "auto"};
    struct dp_server_options so = {.listen_fd = -1, .agent_uid = uid};
    CU_ASSERT_EQUAL_FATAL(evloop_new(&f->loop, &e), 0);
    CU_ASSERT_EQUAL_FATAL(engine_new(&eo, &f->engine, &e), 0);
    CU_ASSERT_EQUAL_FATAL(engine_start(f->engine, &e), 0);
    CU_ASSERT_EQUAL_FATAL(dp_server_new(f->loop, f->engine, &so, &f->server, &e), 0);
    f->timer = evloop_timer_add(f->loop, stop_turn, f->loop);
    connect_agent(f);
}

static void setup(struct fixture *f)
{
    setup_for(f, geteuid());
    CU_ASSERT_TRUE_FATAL(take(f) > 0);
    CU_ASSERT_EQUAL_FATAL(f->h.type, DP_HELLO);
    close(f->fd);
}

static void teardown(struct fixture *f)
{
    close(f->agent);
    dp_server_free(f->server);
    engine_free(f->engine);
    evloop_free(f->loop);
}

static void send_raw(struct fixture *f, enum dp_type type, const void *body, size_t len, int fd)
{
    struct err e = {0};
    struct {
        struct dp_header h;
        uint8_t body[DP_MSG_MAX - sizeof(struct dp_header)];
    } m;
    dp_header_init(&m.h, type, ++f->seq, (uint32_t)len);
    if (len)
        memcpy(m.body, body, len);
    CU_ASSERT_EQUAL_FATAL(unixsock_send(f->agent, &m, sizeof m.h + len, &fd, fd >= 0 ? 1 : 0, &e),
                          0);
}

/* Sends and returns the ACK's status; events on the way are passed over. */
static int request(struct fixture *f, enum dp_type type, const void *body, size_t len, int fd)
{
    send_raw(f, type, body, len, fd);
    do {
        CU_ASSERT_TRUE_FATAL(take(f) > 0);
    } while (f->h.seq == 0);
    CU_ASSERT_EQUAL(f->h.type, DP_ACK);
    CU_ASSERT_EQUAL(f->h.seq, f->seq);
    return ((const struct dp_ack *)(const void *)f->body)->status;
}

static struct hw_id id_of(uint8_t n)
{
    struct hw_id id;
    memset(id.b, n, sizeof id.b);
    return id;
}

static struct dp_addr addr4(uint8_t last)
{
    return (struct dp_addr){.family = 4, .b = {192, 0, 2, last}};
}

static struct dp_link_set link_set(uint8_t tunnels)
{
    return (struct dp_link_set){.link = id_of(1),
                                .peer = id_of(2),
                                .local = addr4(1),
                                .remote = addr4(2),
                                .peer_overlay4 = addr4(102),
                                .remote_port_base = 4510,
                                .tunnels = tunnels,
                                .class_ = DP_CLASS_ATTACHMENT,
                                .enabled = 1,
                                .missed = 3,
                                .mtu = 1438,
                                .interval_ms = 1000};
}

/* Means nothing to the dataplane, which gives it back. */
static const struct dp_peer_cert peer_cert = {
    .serial = {0xab, 1}, .serial_len = 2, .not_after = 1900000000};

static size_t sa_install(struct dp_sa_install *m, uint8_t direction, uint64_t epoch, uint8_t count)
{
    *m = (struct dp_sa_install){.link = id_of(1),
                                .peer_boot = id_of(3),
                                .peer_cert = peer_cert,
                                .epoch = epoch,
                                .window = 1024,
                                .direction = direction,
                                .suite = ESP_SUITE_AES_256_GCM,
                                .esn = 1,
                                .count = count};
    for (uint8_t i = 0; i < count; i++)
        m->sa[i] = (struct dp_sa){.tunnel = i, .spi = (uint32_t)(1000 * epoch + i)};
    return dp_sa_install_len(count);
}

static void test_hello_and_counters(void)
{
    struct fixture f;
    setup_for(&f, geteuid());
    CU_ASSERT_TRUE_FATAL(take(&f) > 0);
    const struct dp_hello *h = (const void *)f.body;
    CU_ASSERT_EQUAL(f.h.type, DP_HELLO);
    CU_ASSERT_EQUAL(h->workers, 2);
    CU_ASSERT_TRUE(h->suites & (1u << ESP_SUITE_AES_256_GCM));
    const struct dp_stats_header *s = mmap(NULL, 4096, PROT_READ, MAP_SHARED, f.fd, 0);
    CU_ASSERT_TRUE_FATAL(s != MAP_FAILED);
    CU_ASSERT_EQUAL(s->magic, DP_STATS_MAGIC);
    CU_ASSERT_EQUAL(s->workers, 2);
    CU_ASSERT_TRUE(id_equal(&s->boot, &h->boot));
    CU_ASSERT_PTR_EQUAL(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0), MAP_FAILED);
    munmap((void *)(uintptr_t)s, 4096);
    close(f.fd);
    teardown(&f);
}

static void test_other_user_is_refused(void)
{
    struct fixture f;
    setup_for(&f, geteuid() + 1);
    CU_ASSERT_EQUAL(take(&f), 0);
    teardown(&f);
}

static unsigned dump(struct fixture *f, enum dp_type wanted)
{
    unsigned n = 0;
    send_raw(f, DP_DUMP, NULL, 0, -1);
    for (;;) {
        CU_ASSERT_TRUE_FATAL(take(f) > 0);
        if (f->h.type == DP_DUMP_END)
            return n;
        n += f->h.type == wanted && f->h.seq == f->seq;
        if (f->h.type == DP_DUMP_SA)
            CU_ASSERT_EQUAL(memcmp(&((const struct dp_dump_sa *)(const void *)f->body)->peer_cert,
                                   &peer_cert, sizeof peer_cert),
                            0);
    }
}

static void test_requests_and_dump(void)
{
    struct fixture f;
    setup(&f);
    CU_ASSERT_EQUAL(dump(&f, DP_DUMP_LINK), 0);
    struct dp_link_set l = link_set(4);
    CU_ASSERT_EQUAL(request(&f, DP_LINK_SET, &l, sizeof l, -1), 0);
    struct dp_node_set node = {.gateway = id_of(9), .overlay4 = addr4(101)};
    CU_ASSERT_EQUAL(request(&f, DP_NODE_SET, &node, sizeof node, -1), 0);
    struct dp_sa_install m;
    size_t len = sa_install(&m, DP_DIR_IN, 1, 4);
    CU_ASSERT_EQUAL(request(&f, DP_SA_INSTALL, &m, len, -1), 0);
    CU_ASSERT_EQUAL(request(&f, DP_SA_INSTALL, &m, len, -1), HW_ESTALE);
    len = sa_install(&m, DP_DIR_OUT, 1, 4);
    m.window = 0; /* means nothing for this direction */
    CU_ASSERT_EQUAL(request(&f, DP_SA_INSTALL, &m, len, -1), 0);
    CU_ASSERT_EQUAL(dump(&f, DP_DUMP_SA), 8);
    struct dp_sa_switch sw = {.link = id_of(1), .epoch = 2};
    CU_ASSERT_EQUAL(request(&f, DP_SA_SWITCH, &sw, sizeof sw, -1), HW_ENOTFOUND);
    sw.epoch = 1;
    CU_ASSERT_EQUAL(request(&f, DP_SA_SWITCH, &sw, sizeof sw, -1), 0);
    CU_ASSERT_EQUAL(request(&f, DP_SA_SWITCH, &sw, sizeof sw, -1), 0);
    struct dp_sa_retire r = {.link = id_of(1), .epoch = 1, .in = 1};
    CU_ASSERT_EQUAL(request(&f, DP_SA_RETIRE, &r, sizeof r, -1), 0);
    CU_ASSERT_EQUAL(dump(&f, DP_DUMP_SA), 4);
    CU_ASSERT_EQUAL(dump(&f, DP_DUMP_NODE), 1);
    struct dp_link_remove rm = {.link = id_of(1)};
    CU_ASSERT_EQUAL(request(&f, DP_LINK_REMOVE, &rm, sizeof rm, -1), 0);
    CU_ASSERT_EQUAL(request(&f, DP_LINK_REMOVE, &rm, sizeof rm, -1), 0);
    CU_ASSERT_EQUAL(dump(&f, DP_DUMP_SA), 0);
    CU_ASSERT_EQUAL(request(&f, DP_SA_SWITCH, &sw, sizeof sw, -1), HW_ENOTFOUND);
    teardown(&f);
}

/* Every tunnel of a refused installation is as it was before. */
static void test_install_is_all_or_nothing(void)
{
    struct fixture f;
    setup(&f);
    struct dp_link_set l = link_set(4);
    CU_ASSERT_EQUAL(request(&f, DP_LINK_SET, &l, sizeof l, -1), 0);
    struct dp_sa_install m;
    size_t len = sa_install(&m, DP_DIR_IN, 1, 4);
    CU_ASSERT_EQUAL(request(&f, DP_SA_INSTALL, &m, len, -1), 0);
    len = sa_install(&m, DP_DIR_IN, 2, 4);
    m.sa[3].spi = 1003; /* in use by the first epoch of the same worker's tunnel */
    CU_ASSERT_EQUAL(request(&f, DP_SA_INSTALL, &m, len, -1), HW_ECONFLICT);
    CU_ASSERT_EQUAL(dump(&f, DP_DUMP_SA), 4);
    len = sa_install(&m, DP_DIR_IN, 2, 5);
    CU_ASSERT_EQUAL(request(&f, DP_SA_INSTALL, &m, len, -1), HW_EINVAL);
    CU_ASSERT_EQUAL(dump(&f, DP_DUMP_SA), 4);
    teardown(&f);
}

static void test_bad_messages(void)
{
    struct fixture f;
    setup(&f);
    struct dp_link_set l = link_set(0);
    CU_ASSERT_EQUAL(request(&f, DP_LINK_SET, &l, sizeof l, -1), HW_EPROTO);
    CU_ASSERT_EQUAL(request(&f, DP_LINK_SET, &l, sizeof l - 1, -1), HW_EPROTO);
    CU_ASSERT_EQUAL(request(&f, DP_DUMP, NULL, 0, STDIN_FILENO), HW_EPROTO);
    struct dp_attach_udp u = {.family = 4, .port = 4510};
    CU_ASSERT_EQUAL(request(&f, DP_ATTACH_UDP, &u, sizeof u, -1), HW_EPROTO);
    CU_ASSERT_EQUAL(request(&f, DP_ATTACH_UDP, &u, sizeof u, STDIN_FILENO), HW_EINVAL);
    struct dp_attach_tun t = {.queue = 0, .queues = 3, .mtu = 1500};
    CU_ASSERT_EQUAL(request(&f, DP_ATTACH_TUN, &t, sizeof t, STDIN_FILENO), HW_EINVAL);
    CU_ASSERT_EQUAL(dump(&f, DP_DUMP_LINK), 0);
    /* Too short to be answered: the connection ends, the server goes on. */
    struct err e = {0};
    CU_ASSERT_EQUAL(unixsock_send(f.agent, "x", 1, NULL, 0, &e), 0);
    CU_ASSERT_EQUAL(take(&f), 0);
    close(f.agent);
    connect_agent(&f);
    CU_ASSERT_TRUE(take(&f) > 0);
    CU_ASSERT_EQUAL(f.h.type, DP_HELLO);
    close(f.fd);
    teardown(&f);
}

static void test_new_connection_replaces_the_old(void)
{
    struct fixture f;
    setup(&f);
    struct dp_link_set l = link_set(2);
    CU_ASSERT_EQUAL(request(&f, DP_LINK_SET, &l, sizeof l, -1), 0);
    int old = f.agent;
    connect_agent(&f);
    int young = f.agent;
    f.agent = old;
    CU_ASSERT_EQUAL(take(&f), 0);
    close(old);
    f.agent = young;
    CU_ASSERT_TRUE(take(&f) > 0);
    CU_ASSERT_EQUAL(f.h.type, DP_HELLO);
    close(f.fd);
    CU_ASSERT_EQUAL(dump(&f, DP_DUMP_LINK), 1);
    teardown(&f);
}

/* An agent that asks much and reads nothing for a while gets it all, in order. */
static void test_slow_reader(void)
{
    struct fixture f;
    setup(&f);
    struct dp_link_set l = link_set(50);
    CU_ASSERT_EQUAL(request(&f, DP_LINK_SET, &l, sizeof l, -1), 0);
    struct dp_sa_install m;
    size_t len = sa_install(&m, DP_DIR_IN, 1, 50);
    CU_ASSERT_EQUAL(request(&f, DP_SA_INSTALL, &m, len, -1), 0);
    uint32_t first = f.seq + 1;
    const unsigned dumps = 60;
    struct err e = {0};
    for (unsigned i = 0; i < dumps; i++) {
        send_raw(&f, DP_DUMP, NULL, 0, -1);
        evloop_timer_arm(f.timer, NS_PER_MS);
        CU_ASSERT_EQUAL_FATAL(evloop_run(f.loop, &e), 0);
    }
    for (unsigned i = 0; i < dumps; i++) {
        unsigned sas = 0;
        do {
            CU_ASSERT_TRUE_FATAL(take(&f) > 0);
            CU_ASSERT_EQUAL(f.h.seq, first + i);
            sas += f.h.type == DP_DUMP_SA;
        } while (f.h.type != DP_DUMP_END);
        CU_ASSERT_EQUAL(sas, 50);
    }
    teardown(&f);
}

static void test_quiesce_stops_the_loop(void)
{
    struct fixture f;
    struct err e = {0};
    setup(&f);
    send_raw(&f, DP_QUIESCE, NULL, 0, -1);
    CU_ASSERT_EQUAL(evloop_run(f.loop, &e), 0);
    teardown(&f);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"hello and counters", test_hello_and_counters},
        {"other user is refused", test_other_user_is_refused},
        {"requests and dump", test_requests_and_dump},
        {"install is all or nothing", test_install_is_all_or_nothing},
        {"bad messages", test_bad_messages},
        {"new connection replaces the old", test_new_connection_replaces_the_old},
        {"slow reader", test_slow_reader},
        {"quiesce stops the loop", test_quiesce_stops_the_loop},
        CU_TEST_INFO_NULL};
    return packet_test_run("dp_server", tests);
}
