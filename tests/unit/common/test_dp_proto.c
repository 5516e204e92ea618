#include "common/dp_proto.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>

/* A message under test: built valid, then one thing is made wrong. */
static struct {
    struct dp_header h;
    union {
        struct dp_hello hello;
        struct dp_ack ack;
        struct dp_attach_tun tun;
        struct dp_attach_udp udp;
        struct dp_node_set node;
        struct dp_link_set link;
        struct dp_link_remove remove;
        struct dp_sa_install sa;
        struct dp_sa_switch sw;
        struct dp_sa_retire retire;
        struct dp_fib_commit fib;
        struct dp_tunnel_event tunnel;
        struct dp_sa_event event;
        struct dp_peer_moved moved;
        struct dp_dump_link dump_link;
        struct dp_dump_sa dump_sa;
        struct dp_dump_fib dump_fib;
        uint8_t raw[4096];
    };
} m;

static const struct hw_id id_one = {{1}}, id_two = {{2}};

static struct dp_addr addr(const char *text)
{
    struct ipaddr a;
    if (ipaddr_parse(text, &a) != HW_OK)
        abort();
    return dp_addr_from_ip(&a);
}

static void begin(enum dp_type type, uint32_t seq, size_t body)
{
    memset(&m, 0, sizeof m);
    dp_header_init(&m.h, type, seq, (uint32_t)body);
}

static int judge(int n_fds, int to_dataplane)
{
    /* From an odd address in a block of exactly this size: unaligned, and any overrun is seen by
     * ASan. */
    size_t len = m.h.length;
    char *copy = malloc(len + 1);
    struct err e = {0};
    memcpy(copy + 1, &m, len);
    int rc = dp_validate(copy + 1, len, n_fds, to_dataplane, &e);
    CU_ASSERT(rc == HW_OK || (rc == HW_EPROTO && e.text[0] != '\0'));
    free(copy);
    return rc;
}

static void make_link(struct dp_link_set *l)
{
    *l = (struct dp_link_set){
        .link = id_one,
        .peer = id_two,
        .local = addr("10.1.0.1"),
        .remote = addr("10.2.0.1"),
        .peer_overlay4 = addr("100.127.0.2"),
        .peer_overlay6 = addr("fd12::2"),
        .remote_port_base = 4510,
        .port_offset = 49,
        .tunnels = 8,
        .class_ = DP_CLASS_ATTACHMENT,
        .enabled = 1,
        .missed = 3,
        .mtu = 1438,
        .interval_ms = 1000,
    };
}

static void begin_link(void)
{
    begin(DP_LINK_SET, 7, sizeof m.link);
    make_link(&m.link);
}

static void begin_sa(unsigned count)
{
    begin(DP_SA_INSTALL, 7, dp_sa_install_len(count));
    m.sa = (struct dp_sa_install){
        .link = id_one,
        .peer_boot = id_two,
        .epoch = 1,
        .window = 8192,
        .direction = DP_DIR_IN,
        .suite = ESP_SUITE_AES_128_GCM,
        .esn = 1,
        .count = (uint8_t)count,
    };
    for (unsigned i = 0; i < count; i++)
        m.sa.sa[i] = (struct dp_sa){.tunnel = (uint16_t)i, .spi = 256 + i, .key = {1, 2, 3}};
}

#define REFUSED(begin, n_fds, ...)                                                                 \
    do {                                                                                           \
        begin;                                                                                     \
        CU_ASSERT_EQUAL(judge(n_fds, 1), HW_OK);                                                   \
        __VA_ARGS__;                                                                               \
        CU_ASSERT_EQUAL(judge(n_fds, 1), HW_EPROTO);                                               \
    } while (0)

static void test_header(void)
{
    struct err e;
    REFUSED(begin_link(), 0, m.h.version++);
    REFUSED(begin_link(), 0, m.h.type = 0);
    REFUSED(begin_link(), 0, m.h.type = 12);
    REFUSED(begin_link(), 0, m.h.type = 60000);
    REFUSED(begin_link(), 0, m.h.seq = 0);
    REFUSED(begin_link(), 0, m.h.reserved = 1);
    REFUSED(begin_link(), 0, m.h.length--);
    REFUSED(begin_link(), 0, m.h.length++);
    begin_link();
    CU_ASSERT_EQUAL(judge(1, 1), HW_EPROTO);
    CU_ASSERT_EQUAL(judge(0, 0), HW_EPROTO); /* wrong direction */
    CU_ASSERT_EQUAL(dp_validate(&m, 15, 0, 1, &e), HW_EPROTO);
    CU_ASSERT_EQUAL(dp_validate(&m, 0, 0, 1, &e), HW_EPROTO);
    CU_ASSERT_EQUAL(dp_validate(&m, m.h.length - 1, 0, 1, NULL), HW_EPROTO);
}

static void test_link(void)
{
    REFUSED(begin_link(), 0, m.link.link = (struct hw_id){{0}});
    REFUSED(begin_link(), 0, m.link.peer = (struct hw_id){{0}});
    REFUSED(begin_link(), 0, m.link.local = addr("fd00::1"));
    REFUSED(begin_link(), 0, m.link.local.family = 0);
    REFUSED(begin_link(), 0, m.link.local.b[4] = 1);
    REFUSED(begin_link(), 0, m.link.remote.family = 5);
    REFUSED(begin_link(), 0, m.link.remote.reserved[2] = 1);
    REFUSED(begin_link(), 0, m.link.peer_overlay4 = addr("fd00::1"));
    REFUSED(begin_link(), 0, m.link.peer_overlay4 = m.link.peer_overlay6 = (struct dp_addr){0});
    REFUSED(begin_link(), 0, m.link.remote_port_base = 0);
    REFUSED(begin_link(), 0, m.link.remote_port_base = 65535 - 48);
    REFUSED(begin_link(), 0, m.link.port_offset = 50);
    REFUSED(begin_link(), 0, m.link.tunnels = 0);
    REFUSED(begin_link(), 0, m.link.tunnels = 51);
    REFUSED(begin_link(), 0, m.link.class_ = DP_CLASS_SITE);
    REFUSED(begin_link(), 0, m.link.class_ = DP_CLASS_COUNT);
    REFUSED(begin_link(), 0, m.link.enabled = 2);
    REFUSED(begin_link(), 0, m.link.remote_fixed = 255);
    REFUSED(begin_link(), 0, m.link.missed = 0);
    REFUSED(begin_link(), 0, m.link.missed = 21);
    REFUSED(begin_link(), 0, m.link.mtu = 575);
    REFUSED(begin_link(), 0, m.link.mtu = 65522);
    REFUSED(begin_link(), 0, m.link.interval_ms = 9);
    REFUSED(begin_link(), 0, m.link.interval_ms = 60001);
    REFUSED(begin_link(), 0, m.link.reserved = 1);
    begin_link();
    m.link.remote_port_base = 65535 - 49;
    m.link.peer_overlay4 = (struct dp_addr){0};
    CU_ASSERT_EQUAL(judge(0, 1), HW_OK);
}

static void test_sa_install(void)
{
    for (unsigned n = 1; n <= HW_TUNNELS_PER_LINK_MAX; n++) {
        begin_sa(n);
        CU_ASSERT_EQUAL(judge(0, 1), HW_OK);
    }
    REFUSED(begin_sa(3), 0, m.sa.count = 2);
    REFUSED(begin_sa(3), 0, m.sa.count = 0);
    REFUSED(begin_sa(3), 0, m.sa.count = 255);
    REFUSED(begin_sa(3), 0, m.sa.epoch = 0);
    REFUSED(begin_sa(3), 0, m.sa.peer_boot = (struct hw_id){{0}});
    REFUSED(begin_sa(3), 0, m.sa.peer_cert.serial_len = 21);
    REFUSED(begin_sa(3), 0, m.sa.peer_cert.reserved[2] = 1);
    REFUSED(begin_sa(3), 0, m.sa.window = 0);
    REFUSED(begin_sa(3), 0, m.sa.window = 32);
    REFUSED(begin_sa(3), 0, m.sa.window = 100);
    REFUSED(begin_sa(3), 0, m.sa.window = 16384);
    REFUSED(begin_sa(3), 0, m.sa.direction = 2);
    REFUSED(begin_sa(3), 0, m.sa.suite = 0);
    REFUSED(begin_sa(3), 0, m.sa.suite = 3);
    REFUSED(begin_sa(3), 0, m.sa.esn = 2);
    REFUSED(begin_sa(3), 0, m.sa.reserved = 1);
    REFUSED(begin_sa(3), 0, m.sa.sa[2].tunnel = 50);
    REFUSED(begin_sa(3), 0, m.sa.sa[2].tunnel = 0);
    REFUSED(begin_sa(3), 0, m.sa.sa[2].spi = 255);
    REFUSED(begin_sa(3), 0, m.sa.sa[2].spi = 256);
    REFUSED(begin_sa(3), 0, m.sa.sa[2].key[16] = 1);
    REFUSED(begin_sa(3), 0, m.sa.sa[2].reserved = 1);
    REFUSED(begin_sa(3), 0, (m.sa.soft_bytes = 10, m.sa.hard_bytes = 9));
    REFUSED(begin_sa(3), 0, (m.sa.soft_packets = 10, m.sa.hard_packets = 9));
    begin_sa(2);
    m.sa.direction = DP_DIR_OUT;
    m.sa.window = 0;
    m.sa.soft_bytes = 10;
    CU_ASSERT_EQUAL(judge(0, 1), HW_OK);
    begin(DP_SA_INSTALL, 7, 8); /* shorter than the count's own place */
    CU_ASSERT_EQUAL(judge(0, 1), HW_EPROTO);
}

static void begin_tun(void)
{
    begin(DP_ATTACH_TUN, 7, sizeof m.tun);
    m.tun = (struct dp_attach_tun){.queue = 1, .queues = 2, .mtu = 1438};
}

static void begin_udp(void)
{
    begin(DP_ATTACH_UDP, 7, sizeof m.udp);
    m.udp = (struct dp_attach_udp){.family = 6, .port_index = 49, .port = 4559};
}

static void begin_node(void)
{
    begin(DP_NODE_SET, 7, sizeof m.node);
    m.node = (struct dp_node_set){.gateway = id_one, .overlay4 = addr("100.127.0.1")};
}

static void begin_retire(void)
{
    begin(DP_SA_RETIRE, 7, sizeof m.retire);
    m.retire = (struct dp_sa_retire){.link = id_one, .in = 1};
}

static void begin_switch(void)
{
    begin(DP_SA_SWITCH, 7, sizeof m.sw);
    m.sw = (struct dp_sa_switch){.link = id_one, .epoch = 4};
}

static void begin_fib(void)
{
    begin(DP_FIB_COMMIT, 7, sizeof m.fib);
    m.fib = (struct dp_fib_commit){.generation = 5, .size = sizeof(struct dp_fib_header)};
}

static void begin_remove(void)
{
    begin(DP_LINK_REMOVE, 7, sizeof m.remove);
    m.remove.link = id_one;
}

static void test_small_requests(void)
{
    REFUSED(begin_tun(), 1, m.tun.queue = 2);
    REFUSED(begin_tun(), 1, m.tun.queues = 65);
    REFUSED(begin_tun(), 1, m.tun.mtu = 575);
    REFUSED(begin_udp(), 1, m.udp.family = 0);
    REFUSED(begin_udp(), 1, m.udp.port_index = 50);
    REFUSED(begin_udp(), 1, m.udp.port = 0);
    REFUSED(begin_udp(), 1, m.udp.reserved = 1);
    REFUSED(begin_node(), 0, m.node.gateway = (struct hw_id){{0}});
    REFUSED(begin_node(), 0, m.node.overlay4 = addr("fd00::1"));
    REFUSED(begin_node(), 0, m.node.overlay6 = addr("10.0.0.1"));
    REFUSED(begin_retire(), 0, m.retire.in = 0);
    REFUSED(begin_retire(), 0, m.retire.out = 2);
    REFUSED(begin_retire(), 0, m.retire.reserved[5] = 1);
    REFUSED(begin_switch(), 0, m.sw.epoch = 0);
    REFUSED(begin_fib(), 1, m.fib.generation = 0);
    REFUSED(begin_fib(), 1, m.fib.size = DP_FIB_SIZE_MAX + 1ull);
    REFUSED(begin_remove(), 0, m.remove.link = (struct hw_id){{0}});
    REFUSED(begin(DP_DUMP, 1, 0), 0, m.h.length = 17);
    REFUSED(begin(DP_QUIESCE, 1, 0), 0, m.h.seq = 0);
}

#undef REFUSED
#define REFUSED(n_fds, ...)                                                                        \
    do {                                                                                           \
        CU_ASSERT_EQUAL(judge(n_fds, 0), HW_OK);                                                   \
        __VA_ARGS__;                                                                               \
        CU_ASSERT_EQUAL(judge(n_fds, 0), HW_EPROTO);                                               \
    } while (0)

static void test_events(void)
{
    begin(DP_HELLO, 0, sizeof m.hello);
    m.hello = (struct dp_hello){.boot = id_one, .workers = 2, .provider = DP_PROVIDER_LIBCRYPTO};
    REFUSED(1, memset(m.hello.build, 'x', sizeof m.hello.build));
    m.hello.build[47] = '\0';
    REFUSED(1, m.hello.workers = 0);
    m.hello.workers = 1;
    REFUSED(1, m.hello.provider = 3);
    begin(DP_ACK, 9, sizeof m.ack);
    REFUSED(0, m.ack.status = 1);
    m.ack.status = HW_EINVAL;
    REFUSED(0, memset(m.ack.text, 'x', sizeof m.ack.text));
    begin(DP_TUNNEL_STATE, 0, sizeof m.tunnel);
    REFUSED(0, m.tunnel.state = 4);
    m.tunnel.state = DP_TUNNEL_UP;
    REFUSED(0, m.tunnel.reason = 6);
    m.tunnel.reason = 0;
    REFUSED(0, m.tunnel.tunnel = 50);
    begin(DP_SA_SOFT_LIMIT, 0, sizeof m.event);
    m.event = (struct dp_sa_event){.epoch = 1};
    REFUSED(0, m.event.direction = 2);
    begin(DP_PEER_MOVED, 0, sizeof m.moved);
    m.moved = (struct dp_peer_moved){.link = id_one, .remote = addr("192.0.2.1"), .port = 4510};
    REFUSED(0, m.moved.port = 0);
    begin(DP_DUMP_LINK, 9, sizeof m.dump_link);
    make_link(&m.dump_link.set);
    REFUSED(0, m.dump_link.state[49] = 4);
    m.dump_link.state[49] = DP_TUNNEL_DOWN;
    REFUSED(0, m.dump_link.set.tunnels = 0);
    begin(DP_DUMP_SA, 9, sizeof m.dump_sa);
    m.dump_sa = (struct dp_dump_sa){.link = id_one, .epoch = 1, .spi = 256, .suite = 1};
    REFUSED(0, m.dump_sa.suite = 9);
    begin(DP_DUMP_FIB, 9, sizeof m.dump_fib);
    REFUSED(0, m.h.seq = 0);
    begin(DP_DUMP_END, 9, 0);
    REFUSED(0, m.h.type = DP_DUMP);
}

/* Random bodies of the right length never crash, whatever their type. */
static void test_noise(void)
{
    uint64_t s = 88172645463325252ull;
    for (int i = 0; i < 20000; i++) {
        begin((enum dp_type)(i % 90), (uint32_t)(i / 90 % 2), 0);
        for (size_t k = 0; k < sizeof m.raw; k += 8) {
            s ^= s << 13;
            s ^= s >> 7;
            s ^= s << 17;
            memcpy(m.raw + k, &s, 8);
        }
        m.h.length = (uint32_t)(sizeof m.h + s % sizeof m.raw);
        (void)judge((int)(s >> 60) % 2, i / 180 % 2);
    }
}

static void test_names(void)
{
    CU_ASSERT_STRING_EQUAL(dp_type_name(DP_SA_INSTALL), "sa-install");
    CU_ASSERT_STRING_EQUAL(dp_type_name(DP_DUMP_END), "dump-end");
    CU_ASSERT_STRING_EQUAL(dp_type_name(0), "unknown");
    CU_ASSERT_STRING_EQUAL(dp_type_name(63), "unknown");
    CU_ASSERT_STRING_EQUAL(dp_tunnel_state_name(DP_TUNNEL_UP), "up");
    CU_ASSERT_STRING_EQUAL(dp_tunnel_state_name(4), "unknown");
    CU_ASSERT_STRING_EQUAL(dp_tunnel_reason_name(DP_REASON_PEER_BOOT), "peer_boot");
    CU_ASSERT_STRING_EQUAL(dp_tunnel_reason_name(99), "unknown");
    CU_ASSERT_STRING_EQUAL(dp_provider_name(DP_PROVIDER_IPSEC_MB), "ipsec-mb");
    CU_ASSERT_STRING_EQUAL(dp_provider_name(0), "unknown");
}

static void test_addresses(void)
{
    static const char *const texts[] = {"192.0.2.1", "2001:db8::1"};
    for (size_t i = 0; i < 2; i++) {
        struct ipaddr a, b;
        CU_ASSERT_EQUAL(ipaddr_parse(texts[i], &a), HW_OK);
        struct dp_addr d = dp_addr_from_ip(&a);
        b = dp_addr_to_ip(&d);
        CU_ASSERT_TRUE(ipaddr_equal(&a, &b));
    }
    struct ipaddr none = {0};
    struct dp_addr d = dp_addr_from_ip(&none);
    CU_ASSERT_EQUAL(d.family, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {{"header", test_header},
                           {"link", test_link},
                           {"sa install", test_sa_install},
                           {"small requests", test_small_requests},
                           {"events", test_events},
                           {"noise", test_noise},
                           {"names", test_names},
                           {"addresses", test_addresses},
                           CU_TEST_INFO_NULL};
    return suite_run("dp_proto", tests);
}
