/* Replies to diagnostics' probes: what answers one of ours is taken, whatever differs in a byte is
 * not. */
#include "agent/control/diag/probe.h"
#include "common/bytes.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>

#define PROBES 3

static struct probe_flow flow;
static struct probe sent[PROBES];
static uint8_t packet[4096], probe[2048];
static size_t packet_len;
static struct probe_reply r;

static struct ipaddr ip(const char *s)
{
    struct ipaddr a = {0};
    CU_ASSERT_EQUAL(ipaddr_parse(s, &a), 0);
    return a;
}

static void use(unsigned family, bool udp)
{
    flow = (struct probe_flow){.source = ip(family == 4 ? "10.1.0.1" : "fd01::1"),
                               .target = ip(family == 4 ? "10.2.0.1" : "fd02::1"),
                               .udp = udp,
                               .ident = 54321,
                               .port = 33434,
                               .nonce = 0x0123456789abcdefull};
    for (uint16_t i = 0; i < PROBES; i++)
        sent[i] = (struct probe){.number = i,
                                 .ttl = 3,
                                 .size = (uint16_t)(100 + i),
                                 .dont_fragment = true,
                                 .ip_id = (uint16_t)(1000 + i)};
}

/* The judge of checksums: RFC 1071, written anew. */
static uint32_t sum16(const uint8_t *p, size_t len, uint32_t sum)
{
    for (size_t i = 0; i < len; i++)
        sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

static void seal4(void)
{
    store_be16(packet + 22, 0);
    store_be16(packet + 22, (uint16_t)~sum16(packet + 20, packet_len - 20, 0));
}

/* An ICMP message from `from` with `body` behind its 8 bytes. */
static void message4(const char *from, uint8_t type, uint8_t code, uint32_t word,
                     const uint8_t *body, size_t len)
{
    struct ipaddr a = ip(from);
    memset(packet, 0, 28);
    packet_len = 28 + len;
    packet[0] = 0x45;
    store_be16(packet + 2, (uint16_t)packet_len);
    packet[8] = 61;
    packet[9] = 1;
    memcpy(packet + 12, a.b, 4);
    memcpy(packet + 16, flow.source.b, 4);
    packet[20] = type;
    packet[21] = code;
    store_be32(packet + 24, word);
    memcpy(packet + 28, body, len);
    seal4();
}

static bool read4(void)
{
    return probe_read4(&flow, sent, PROBES, packet, packet_len, &r);
}

static void message6(uint8_t type, uint8_t code, uint32_t word, const uint8_t *body, size_t len)
{
    packet_len = 8 + len;
    memset(packet, 0, 8);
    packet[0] = type;
    packet[1] = code;
    store_be32(packet + 4, word);
    memcpy(packet + 8, body, len);
}

static bool read6(const char *from)
{
    struct ipaddr a = ip(from);
    return probe_read6(&flow, sent, PROBES, &a, packet, packet_len, &r);
}

static void test_packets_are_sound(void)
{
    for (unsigned i = 0; i < 4; i++) {
        use(i < 2 ? 4 : 6, i % 2);
        size_t header = probe_header_len(&flow), n = i < 2 ? 4 : 16;
        probe_build(&flow, &sent[1], probe);
        size_t l4 = sent[1].size - header;
        uint32_t sum = 0;
        if (flow.udp || i >= 2) {
            sum = sum16(flow.source.b, n, 0);
            sum = sum16(flow.target.b, n, sum) + (flow.udp ? 17 : 58) + (uint32_t)l4;
        }
        CU_ASSERT_EQUAL(sum16(probe + header, l4, sum), 0xffff);
        if (i < 2)
            CU_ASSERT_EQUAL(sum16(probe, 20, 0), 0xffff);
        CU_ASSERT_EQUAL(load_be16(probe + (i < 2 ? 2 : 4)), i < 2 ? sent[1].size : l4);
        CU_ASSERT_EQUAL(probe[i < 2 ? 8 : 7], 3);
        if (flow.udp)
            CU_ASSERT_EQUAL(load_be16(probe + header + 2), 33435);
    }
}

static void test_errors4(void)
{
    for (int udp = 0; udp < 2; udp++) {
        use(4, udp);
        probe_build(&flow, &sent[2], probe);
        probe[8] = 1; /* the router's TTL and the checksum after it */
        store_be16(probe + 10, 0x1234);
        message4("198.51.100.6", 11, 0, 0, probe, 28);
        CU_ASSERT(read4());
        CU_ASSERT(r.kind == PROBE_HOP && r.index == 2 && r.ttl == 61);
        struct ipaddr hop = ip("198.51.100.6");
        CU_ASSERT(ipaddr_equal(&r.from, &hop));
        message4("198.51.100.6", 3, 4, 1400, probe, 102);
        CU_ASSERT(read4());
        CU_ASSERT(r.kind == PROBE_TOO_BIG && r.mtu == 1400);
        message4("198.51.100.6", 3, 13, 0, probe, 28);
        CU_ASSERT(read4());
        CU_ASSERT(r.kind == PROBE_UNREACHABLE);
        CU_ASSERT_STRING_EQUAL(r.note, "communication administratively prohibited");
        message4("10.2.0.1", 3, 3, 0, probe, 28);
        CU_ASSERT(read4() && r.kind == PROBE_TARGET);
        message4("198.51.100.6", 3, 3, 0, probe, 28);
        CU_ASSERT(read4() && r.kind == PROBE_UNREACHABLE);
    }
}

/* Each byte that a router does not change is part of the proof: flipped, it is nobody's. */
static void test_quotes_match_exactly4(void)
{
    static const uint8_t changed_by_routers[] = {1, 2, 3, 6, 8, 10, 11};
    use(4, true);
    for (size_t i = 0; i < 102; i++) {
        probe_build(&flow, &sent[2], probe);
        probe[i] ^= 0x40;
        message4("198.51.100.6", 11, 0, 0, probe, 102);
        bool free_byte = memchr(changed_by_routers, (int)i, sizeof changed_by_routers) != NULL;
        CU_ASSERT_EQUAL(read4(), free_byte);
    }
    probe_build(&flow, &sent[2], probe);
    message4("198.51.100.6", 11, 0, 0, probe, 27); /* less than RFC 792 quotes */
    CU_ASSERT(!read4());
    message4("198.51.100.6", 11, 1, 0, probe, 102); /* reassembly: not a hop */
    CU_ASSERT(!read4());
    message4("198.51.100.6", 5, 0, 0, probe, 102); /* redirect */
    CU_ASSERT(!read4());
    message4("198.51.100.6", 11, 0, 0, probe, 102);
    packet[40] ^= 1; /* the message's own checksum is wrong */
    CU_ASSERT(!read4());
    message4("198.51.100.6", 11, 0, 0, probe, 102);
    packet[19] ^= 1; /* not to us */
    CU_ASSERT(!read4());
    for (size_t len = 0; len < 56; len++) {
        message4("198.51.100.6", 11, 0, 0, probe, 28);
        CU_ASSERT(!probe_read4(&flow, sent, PROBES, packet, len, &r));
    }
    message4("198.51.100.6", 11, 0, 0, probe, 102);
    CU_ASSERT(!probe_read4(&flow, sent, 2, packet, packet_len, &r)); /* not sent yet */
}

static void test_echo_replies4(void)
{
    use(4, false);
    probe_build(&flow, &sent[1], probe);
    size_t len = sent[1].size - 20u;
    message4("10.2.0.1", 0, 0, load_be32(probe + 24), probe + 28, len - 8);
    CU_ASSERT(read4());
    CU_ASSERT(r.kind == PROBE_TARGET && r.index == 1);
    for (size_t i = 24; i < packet_len; i++) { /* identifier, number, payload */
        packet[i] ^= 0x10;
        seal4();
        CU_ASSERT(!read4());
        packet[i] ^= 0x10;
    }
    message4("10.2.0.2", 0, 0, load_be32(probe + 24), probe + 28, len - 8);
    CU_ASSERT(!read4()); /* somebody else's */
    message4("10.2.0.1", 0, 0, load_be32(probe + 24), probe + 28, len - 9);
    CU_ASSERT(!read4()); /* cut short */
    use(4, true);
    message4("10.2.0.1", 0, 0, load_be32(probe + 24), probe + 28, len - 8);
    CU_ASSERT(!read4()); /* we sent no echo */
}

static void test_errors6(void)
{
    for (int udp = 0; udp < 2; udp++) {
        use(6, udp);
        probe_build(&flow, &sent[0], probe);
        probe[7] = 1;
        message6(3, 0, 0, probe, 100);
        CU_ASSERT(read6("2001:db8:a::2"));
        CU_ASSERT(r.kind == PROBE_HOP && r.index == 0);
        message6(2, 0, 1400, probe, 100);
        CU_ASSERT(read6("2001:db8:a::2") && r.kind == PROBE_TOO_BIG && r.mtu == 1400);
        message6(2, 0, UINT32_MAX, probe, 100);
        CU_ASSERT(read6("2001:db8:a::2") && r.mtu == UINT16_MAX);
        message6(1, 4, 0, probe, 48);
        CU_ASSERT(read6("fd02::1") && r.kind == PROBE_TARGET);
        message6(1, 1, 0, probe, 48);
        CU_ASSERT(read6("2001:db8:a::2") && r.kind == PROBE_UNREACHABLE);
        for (size_t i = 6; i < 100; i++) {
            probe_build(&flow, &sent[0], probe);
            probe[i] ^= 0x40;
            message6(3, 0, 0, probe, 100);
            CU_ASSERT_EQUAL(read6("2001:db8:a::2"), i == 7);
        }
        probe_build(&flow, &sent[0], probe);
        for (size_t len = 0; len < 48; len++) {
            message6(3, 0, 0, probe, len);
            CU_ASSERT(!read6("2001:db8:a::2"));
        }
    }
    probe_build(&flow, &sent[1], probe);
    use(6, false);
    probe_build(&flow, &sent[1], probe);
    message6(129, 0, load_be32(probe + 44), probe + 48, sent[1].size - 48u);
    CU_ASSERT(read6("fd02::1") && r.kind == PROBE_TARGET && r.index == 1);
    CU_ASSERT(!read6("fd02::2"));
}

/* Ports come again after 500: the packet's own bytes tell which probe it was. */
static void test_ports_that_come_again(void)
{
    static struct probe many[PROBES_MAX];
    use(4, true);
    for (uint16_t i = 0; i < PROBES_MAX; i++)
        many[i] = (struct probe){
            .number = i, .size = 100, .ttl = 1, .dont_fragment = true, .ip_id = (uint16_t)(7 * i)};
    for (size_t i = 3; i < PROBES_MAX; i += PROBE_PORTS) {
        probe_build(&flow, &many[i], probe);
        CU_ASSERT_EQUAL(load_be16(probe + 22), 33437);
        message4("198.51.100.6", 11, 0, 0, probe, 28);
        CU_ASSERT(probe_read4(&flow, many, PROBES_MAX, packet, packet_len, &r));
        CU_ASSERT_EQUAL(r.index, i);
    }
}

/* Bytes of chance are nobody's reply, and are read within their bounds (the sanitizers' part). */
static void test_noise(void)
{
    use(4, true);
    srand(1);
    for (unsigned round = 0; round < 20000; round++) {
        size_t len = (size_t)rand() % 200;
        uint8_t *exact = malloc(len + 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
        for (size_t i = 0; i < len; i++)
            exact[i] = (uint8_t)rand();
        if (len > 10) {
            exact[0] = (uint8_t)(0x45 + rand() % 4);
            exact[9] = 1;
        }
        CU_ASSERT(!probe_read4(&flow, sent, PROBES, exact, len, &r));
        CU_ASSERT(!probe_read6(&flow, sent, PROBES, &flow.target, exact, len, &r));
        free(exact);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"packets are sound", test_packets_are_sound},
                           {"errors, IPv4", test_errors4},
                           {"quotes match exactly, IPv4", test_quotes_match_exactly4},
                           {"echo replies, IPv4", test_echo_replies4},
                           {"IPv6", test_errors6},
                           {"ports that come again", test_ports_that_come_again},
                           {"noise", test_noise},
                           CU_TEST_INFO_NULL};
    return suite_run("probe", tests);
}
