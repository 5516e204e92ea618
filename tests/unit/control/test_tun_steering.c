/* The kernel's choice of hawser0's queue, with packets of our own making given to the device. */
#include "agent/control/netlink/link.h"
#include "agent/control/tun_create.h"
#include "agent/control/tun_steering.h"
#include "common/bytes.h"
#include "tests/unit/control/netns.h"
#include <arpa/inet.h>
#include <CUnit/Basic.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define QUEUES     4
#define OWNER      65534
#define VNET_HDR   10
#define PACKET_MAX 256

static struct tun_queues queues;
static int tun_index;

struct packet {
    uint8_t data[PACKET_MAX];
    size_t len;
};

enum kind { TCP4, TCP4_OPTIONS, UDP4, FRAGMENT4, ICMP4, UDP6, KINDS };

static void ports(uint8_t *at, uint16_t n, bool back)
{
    store_be16(at + (back ? 2 : 0), (uint16_t)(40000 + n));
    store_be16(at + (back ? 0 : 2), 5201);
}

/* A packet of flow n; `back`: of its other direction. What the kinds have in common is enough for a
 * look at the headers: payload and checksums are zero. */
static struct packet make(enum kind kind, uint16_t n, bool back)
{
    struct packet p = {.len = 100};
    if (kind == UDP6) {
        p.data[0] = 0x60;
        p.data[6] = IPPROTO_UDP;
        p.data[8 + (back ? 16 : 0)] = 0xfd;
        p.data[24 - (back ? 16 : 0)] = 0xfc;
        ports(p.data + 40, n, back);
        return p;
    }
    p.data[0] = kind == TCP4_OPTIONS ? 0x46 : 0x45;
    store_be16(p.data + 2, (uint16_t)p.len);
    p.data[9] = kind == UDP4 || kind == FRAGMENT4 ? IPPROTO_UDP
                : kind == ICMP4                   ? IPPROTO_ICMP
                                                  : IPPROTO_TCP;
    store_be32(p.data + (back ? 16 : 12), 0x0a010001);
    store_be32(p.data + (back ? 12 : 16), 0x0a020002u + (kind == ICMP4 ? n : 0u));
    if (kind == FRAGMENT4)
        store_be16(p.data + 6, 0x2000);
    if (kind != ICMP4)
        ports(p.data + (p.data[0] & 15) * 4, n, back);
    return p;
}

static void send_out(int fd, const struct packet *p)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET,
                             .sll_ifindex = tun_index,
                             .sll_protocol =
                                 htons(p->data[0] >> 4 == 6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP)};
    ssize_t n = sendto(fd, p->data, p->len, 0, (struct sockaddr *)&to, sizeof to);
    CU_ASSERT_EQUAL_FATAL(n, (ssize_t)p->len);
}

/* The queue that brings this packet; others that the kernel sends on its own are passed over. */
static int queue_of(int fd, const struct packet *p)
{
    uint8_t got[2048];
    send_out(fd, p);
    for (unsigned tries = 0; tries < 100; tries++) {
        struct pollfd ready[QUEUES];
        for (unsigned i = 0; i < QUEUES; i++)
            ready[i] = (struct pollfd){.fd = queues.fd[i], .events = POLLIN};
        if (poll(ready, QUEUES, 1000) <= 0)
            return -1;
        for (int i = 0; i < QUEUES; i++) {
            ssize_t n = ready[i].revents ? read(queues.fd[i], got, sizeof got) : 0;
            if (n == (ssize_t)p->len + VNET_HDR && memcmp(got + VNET_HDR, p->data, p->len) == 0)
                return i;
        }
    }
    return -1;
}

/* As a worker would: the answers of the flow leave the tunnel by this queue. */
static void answer_by(int queue, const struct packet *p)
{
    uint8_t out[VNET_HDR + PACKET_MAX] = {0};
    memcpy(out + VNET_HDR, p->data, p->len);
    CU_ASSERT_EQUAL(write(queues.fd[queue], out, VNET_HDR + p->len), (ssize_t)(VNET_HDR + p->len));
}

static int packet_socket(void)
{
    int fd = socket(AF_PACKET, SOCK_DGRAM, 0);
    CU_ASSERT_FATAL(fd >= 0);
    return fd;
}

static void test_both_directions_by_one_queue(void)
{
    int fd = packet_socket();
    for (enum kind kind = 0; kind < KINDS; kind++) {
        unsigned used = 0;
        for (uint16_t n = 0; n < 64; n++) {
            struct packet there = make(kind, n, false), back = make(kind, n, true);
            int q = queue_of(fd, &there);
            CU_ASSERT_FATAL(q >= 0);
            CU_ASSERT_EQUAL(queue_of(fd, &back), q);
            used |= 1u << q;
        }
        /* Fragments know no ports: all of one pair of addresses go one way. */
        CU_ASSERT_EQUAL(__builtin_popcount(used), kind == FRAGMENT4 ? 1 : QUEUES);
    }
    (void)close(fd);
}

static void test_answers_do_not_move_a_flow(void)
{
    int fd = packet_socket();
    for (uint16_t n = 0; n < 16; n++) {
        struct packet there = make(UDP4, n, false), back = make(UDP4, n, true);
        int q = queue_of(fd, &there);
        answer_by((q + 1) % QUEUES, &back);
        CU_ASSERT_EQUAL(queue_of(fd, &there), q);
    }
    (void)close(fd);
}

static void test_short_packets_pass(void)
{
    int fd = packet_socket();
    struct packet p = make(TCP4, 1, false);
    p.len = 20;
    CU_ASSERT_EQUAL(queue_of(fd, &p), 0);
    (void)close(fd);
}

static bool prepare(void)
{
    struct nl *nl;
    struct err e = {0};
    bool created;
    if (nl_open(&nl, &e) < 0)
        return false;
    int rc = tun_ensure(nl, OWNER, &tun_index, &created, &e);
    nl_close(nl);
    if (rc < 0 || tun_queues_open(&queues, QUEUES, tun_index, &e) < 0 ||
        netns_sh("ip link set hawser0 up") != 0)
        return false;
    if (tun_steering_attach(queues.fd[0], &e) < 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        return false;
    }
    return true;
}

int main(void)
{
    netns_enter_or_skip("test_tun_steering");
    CU_initialize_registry();
    CU_pSuite s = CU_add_suite("tun_steering", NULL, NULL);
    if (!prepare())
        return 1;
    CU_add_test(s, "both directions by one queue", test_both_directions_by_one_queue);
    CU_add_test(s, "answers do not move a flow", test_answers_do_not_move_a_flow);
    CU_add_test(s, "short packets pass", test_short_packets_pass);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    tun_queues_close(&queues);
    return failed != 0;
}
