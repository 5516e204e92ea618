#include "agent/dataplane/udp_io.h"
#include "tests/unit/dataplane/packet_test.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* Two sockets on the loopback device, each sending to the other. */
struct ends {
    struct udp_socket a, b;
    struct udp_path to_b;
    struct ipaddr addr;
};

static int bound(int family, uint16_t *port)
{
    struct sockaddr_storage ss;
    struct ipaddr any = {.family = (uint8_t)family};
    socklen_t len = ipaddr_to_sockaddr(&any, 0, &ss);
    int fd = socket(family == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&ss, len), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)&ss, &len), 0);
    struct ipaddr got;
    CU_ASSERT_EQUAL_FATAL(ipaddr_from_sockaddr((struct sockaddr *)&ss, &got, port), 0);
    return fd;
}

static void make_ends(struct ends *e, int family, bool gso, bool gro)
{
    struct err err = {0};
    uint16_t port_a, port_b;
    e->a = (struct udp_socket){.fd = bound(family, &port_a), .family = (uint8_t)family, .gso = gso};
    e->b = (struct udp_socket){.fd = bound(family, &port_b), .family = (uint8_t)family, .gro = gro};
    CU_ASSERT_EQUAL(udp_io_prepare(&e->a, &err), 0);
    CU_ASSERT_EQUAL(udp_io_prepare(&e->b, &err), 0);
    CU_ASSERT_EQUAL_FATAL(ipaddr_parse(family == 4 ? "127.0.0.1" : "::1", &e->addr), 0);
    udp_path_set(&e->to_b, &e->addr, &e->addr, port_b);
}

static void close_ends(struct ends *e)
{
    close(e->a.fd);
    close(e->b.fd);
}

static int receive(const struct ends *e, uint8_t *buf, size_t cap, struct udp_rx *rx)
{
    struct pollfd p = {.fd = e->b.fd, .events = POLLIN};
    CU_ASSERT_EQUAL_FATAL(poll(&p, 1, 5000), 1);
    return udp_io_recv(&e->b, buf, cap, rx);
}

static uint8_t sent[65536], got[65536];

/* `n` datagrams of `seg` bytes and a last one of `last` go over, marked `tos`, in whatever pieces.
 */
static void check_transfer(int family, bool gso, bool gro, size_t seg, size_t n, size_t last,
                           uint8_t tos)
{
    struct ends e;
    make_ends(&e, family, gso, gro);
    uint64_t state = 7 + seg;
    size_t len = seg * n + last, datagrams = n + (last != 0);
    test_fill(&state, sent, len);
    CU_ASSERT_EQUAL_FATAL(udp_io_send(&e.a, &e.to_b, sent, len, seg, tos), 0);
    size_t at = 0;
    while (datagrams > 0) {
        struct udp_rx rx;
        int bytes = receive(&e, got + at, sizeof got - at, &rx);
        CU_ASSERT_TRUE_FATAL(bytes > 0);
        CU_ASSERT_EQUAL(rx.tos, tos);
        CU_ASSERT_EQUAL(rx.len, (uint32_t)bytes);
        CU_ASSERT_TRUE(gro || rx.seg == rx.len);
        CU_ASSERT_TRUE(rx.seg == seg || (rx.seg == last && rx.len == last));
        struct ipaddr from;
        uint16_t port;
        CU_ASSERT_EQUAL(ipaddr_from_sockaddr(&rx.from.sa, &from, &port), 0);
        CU_ASSERT_TRUE(ipaddr_equal(&from, &e.addr));
        datagrams -= (rx.len + rx.seg - 1) / rx.seg;
        at += rx.len;
    }
    CU_ASSERT_EQUAL(at, len);
    CU_ASSERT_EQUAL(memcmp(sent, got, len), 0);
    struct udp_rx rx;
    CU_ASSERT_EQUAL(udp_io_recv(&e.b, got, sizeof got, &rx), -EAGAIN);
    close_ends(&e);
}

static void test_transfers(void)
{
    bool gso, gro;
    udp_io_probe(&gso, &gro);
    for (int family = 4; family <= 6; family += 2) {
        for (unsigned way = 0; way < 4; way++) {
            bool use_gso = (way & 1) && gso, use_gro = (way & 2) && gro;
            check_transfer(family, use_gso, use_gro, 1472, 1, 0, 0);
            check_transfer(family, use_gso, use_gro, 1472, 20, 0, 0);
            check_transfer(family, use_gso, use_gro, 1472, 20, 100, 0xb9);
            check_transfer(family, use_gso, use_gro, 100, 127, 1, 0x02);
        }
    }
}

static void test_limits_of_a_send(void)
{
    CU_ASSERT_EQUAL(udp_io_burst(4, 1472), 44);
    CU_ASSERT_EQUAL(udp_io_burst(6, 1452), 45);
    CU_ASSERT_EQUAL(udp_io_burst(4, 8972), 7);
    CU_ASSERT_EQUAL(udp_io_burst(4, 100), 128);
    CU_ASSERT_EQUAL(udp_io_burst(6, 511), 128);
    CU_ASSERT_EQUAL(udp_io_burst(6, 512), 127);
    CU_ASSERT_EQUAL(udp_io_burst(4, 65000), 1);
    CU_ASSERT_EQUAL(udp_io_burst(4, 65500), 1);
    CU_ASSERT_EQUAL(udp_io_burst(4, 0), 1);
}

static void test_whose_it_is(void)
{
    struct ipaddr local, remote;
    struct udp_path p;
    union udp_sockaddr from = {.in = {.sin_family = AF_INET, .sin_port = htons(4510)}};
    CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET, "192.0.2.2", &from.in.sin_addr), 1);
    CU_ASSERT_EQUAL(ipaddr_parse("192.0.2.1", &local) + ipaddr_parse("192.0.2.2", &remote), 0);
    udp_path_set(&p, &local, &remote, 4510);
    CU_ASSERT_TRUE(udp_path_from(&p, &from));
    from.in.sin_port = htons(4511);
    CU_ASSERT_FALSE(udp_path_from(&p, &from));
    from.in.sin_port = htons(4510);
    from.in.sin_addr.s_addr ^= htonl(1);
    CU_ASSERT_FALSE(udp_path_from(&p, &from));
    from.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(4510)};
    CU_ASSERT_FALSE(udp_path_from(&p, &from));
    CU_ASSERT_EQUAL(ipaddr_parse("2001:db8::1", &local) + ipaddr_parse("2001:db8::2", &remote), 0);
    CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET6, "2001:db8::2", &from.in6.sin6_addr), 1);
    udp_path_set(&p, &local, &remote, 4510);
    CU_ASSERT_TRUE(udp_path_from(&p, &from));
    from.in6.sin6_addr.s6_addr[15] = 3;
    CU_ASSERT_FALSE(udp_path_from(&p, &from));
}

static void test_what_is_no_socket(void)
{
    struct err err = {0};
    struct udp_socket s = {.fd = STDIN_FILENO, .family = 4};
    CU_ASSERT_EQUAL(udp_io_prepare(&s, &err), HW_EINVAL);
    uint16_t port;
    s = (struct udp_socket){.fd = bound(4, &port), .family = 6};
    CU_ASSERT_EQUAL(udp_io_prepare(&s, &err), HW_EINVAL);
    close(s.fd);
}

int main(void)
{
    CU_TestInfo tests[] = {{"transfers", test_transfers},
                           {"limits of a send", test_limits_of_a_send},
                           {"whose it is", test_whose_it_is},
                           {"what is no socket", test_what_is_no_socket},
                           CU_TEST_INFO_NULL};
    return packet_test_run("udp_io", tests);
}
