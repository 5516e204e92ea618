/*
 * Packets for a foreign judge (packet_judge.py, by scapy).
 *   packet_judge emit   prints lines: "ip NAME HEX" (a packet whose lengths and checksums must be
 * right) and "esp ESN TOP SPI KEY HEX INNER" (KEY with salt, an ESP packet and what is in it)
 *   packet_judge open   reads lines "ESN TOP SPI KEY HEX", prints what is in each, or "refused"
 * TOP is the highest sequence number before the packet.
 */
#include "agent/dataplane/checksum.h"
#include "agent/dataplane/esp_in.h"
#include "agent/dataplane/esp_out.h"
#include "agent/dataplane/gso_split.h"
#include "agent/dataplane/icmp_reply.h"
#include "agent/dataplane/mss.h"
#include "tests/unit/dataplane/packet_test.h"
#include <stdio.h>
#include <stdlib.h>

static uint8_t buf[70000], out[70000];
#define PKT (buf + 64)

static void print_hex(const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        printf("%02x", p[i]);
}
static void print_packet(const char *name, const uint8_t *p, size_t len)
{
    printf("ip %s ", name);
    print_hex(p, len);
    printf("\n");
}

static size_t unhex(const char *text, uint8_t *to, size_t cap)
{
    size_t n = strlen(text) / 2;
    for (size_t i = 0; i < n && i < cap; i++) {
        unsigned v = 0;
        if (sscanf(text + 2 * i, "%2x", &v) != 1)
            exit(2);
        to[i] = (uint8_t)v;
    }
    return n;
}

static struct inner parse(const uint8_t *p, size_t len)
{
    struct inner in;
    if (!inner_parse(p, len, &in))
        exit(2);
    return in;
}

static void emit_segments(int family, uint8_t proto)
{
    struct test_packet t = {.family = family,
                            .proto = proto,
                            .sport = 40000,
                            .dport = 443,
                            .seq = 0xfffffc00,
                            .ack = 5,
                            .flags = 0x18,
                            .tcp_words = 8,
                            .id = 0xfffe,
                            .frag = 0x4000,
                            .payload = 5001,
                            .partial = true};
    struct vnet_hdr vh = {.flags = VNET_F_NEEDS_CSUM,
                          .gso_type = proto == 17   ? VNET_GSO_UDP_L4
                                      : family == 4 ? VNET_GSO_TCPV4
                                                    : VNET_GSO_TCPV6,
                          .gso_size = 1200,
                          .csum_start = family == 4 ? 20 : 40,
                          .csum_offset = proto == 17 ? 6 : 16};
    struct inner in = parse(PKT, test_build(PKT, &t));
    struct gso_split s;
    struct gso_segment seg;
    if (gso_split_begin(&s, PKT, &in, &vh, 1400) != GSO_OK)
        exit(2);
    while (gso_split_next(&s, &seg))
        print_packet("segment", seg.data, seg.len);
}

static void emit_changed(int family)
{
    struct test_packet t = {
        .family = family, .proto = 6, .flags = 0x02, .tcp_words = 6, .tos = 2, .sport = 9};
    size_t len = test_build(PKT, &t), l4 = family == 4 ? 20 : 40;
    memcpy(PKT + l4 + 20, (uint8_t[]){2, 4, 0x23, 0x28}, 4);
    test_put16(PKT + l4 + 16, test_pseudo_sum(PKT, 6, len - l4));
    (void)checksum_complete(PKT, len, l4, 16, false);
    struct inner in = parse(PKT, len);
    print_packet("built", PKT, len);
    (void)mss_clamp(PKT, &in, 1438, false);
    print_packet("mss", PKT, len);
    (void)inner_ttl_decrement(PKT, &in);
    print_packet("ttl", PKT, len);
    (void)inner_ecn_decapsulate(PKT, &in, 3);
    print_packet("ecn", PKT, len);
}

static void emit_icmp(int family)
{
    static const uint8_t from[16] = {0xfd, 0x44, [15] = 1};
    struct test_packet t = {
        .family = family, .proto = 6, .flags = 0x10, .payload = 1460, .frag = 0x4000};
    struct inner in = parse(PKT, test_build(PKT, &t));
    print_packet("too-big", out, icmp_reply_too_big(PKT, &in, from, 1438, out, sizeof out));
    print_packet("time-exceeded", out, icmp_reply_time_exceeded(PKT, &in, from, out, sizeof out));
}

static struct sa *make_sa(uint8_t direction, unsigned esn, unsigned long long top, uint32_t spi,
                          const uint8_t *key, size_t key_len)
{
    struct dp_sa_install m = {
        .epoch = 1, .window = 64, .direction = direction, .esn = (uint8_t)esn, .count = 1};
    struct sa *sa = NULL;
    size_t cipher_len = key_len - ESP_SALT_LEN;
    m.suite = cipher_len == 32 ? ESP_SUITE_AES_256_GCM : ESP_SUITE_AES_128_GCM;
    m.sa[0].spi = spi;
    memcpy(m.sa[0].key, key, cipher_len);
    memcpy(m.sa[0].salt, key + cipher_len, ESP_SALT_LEN);
    if (sa_new(aead_provider_by_name("auto"), &m, 0, 0, &sa, NULL) != 0)
        exit(2);
    sa->seq = top;
    if (top && direction == DP_DIR_IN) /* outbound SAs have no window */
        replay_commit(&sa->replay, top);
    return sa;
}

static void emit_esp(unsigned esn, unsigned long long top, size_t key_len, int family,
                     size_t payload)
{
    uint8_t key[36];
    uint64_t rng = top + payload + 1;
    test_fill(&rng, key, sizeof key);
    uint32_t spi = 0x1000 + (uint32_t)payload;
    struct test_packet t = {
        .family = family, .proto = 17, .payload = payload, .sport = 1, .dport = 2};
    size_t len = test_build(PKT, &t);
    struct sa *sa = make_sa(DP_DIR_OUT, esn, top, spi, key, key_len);
    if (esp_out_seal(sa, PKT, len, family == 4 ? 4 : 41, out) != DROP_NONE)
        exit(2);
    printf("esp %u %llu %u ", esn, top, spi);
    print_hex(key, key_len);
    printf(" ");
    print_hex(out, esp_out_len(len));
    printf(" ");
    print_hex(PKT, len);
    printf("\n");
    sa_free(sa);
}

static void emit_all(void)
{
    for (int family = 4; family <= 6; family += 2) {
        emit_segments(family, 6);
        emit_segments(family, 17);
        emit_changed(family);
        emit_icmp(family);
        for (size_t payload = 0; payload < 5; payload++)
            for (unsigned esn = 0; esn < 2; esn++)
                for (size_t key_len = 20; key_len <= 36; key_len += 16) {
                    emit_esp(esn, 7, key_len, family, payload);
                    emit_esp(esn, esn ? 0x3fffffffeull : 0xfffffff0u, key_len, family,
                             payload + 1300);
                }
    }
}

static void open_line(unsigned esn, unsigned long long top, unsigned spi, const char *key_text,
                      const char *text)
{
    uint8_t key[36];
    size_t key_len = unhex(key_text, key, sizeof key), len = unhex(text, PKT, sizeof buf - 64);
    struct sa *sa = make_sa(DP_DIR_IN, esn, top, spi, key, key_len), *found = NULL;
    struct sa_table table;
    struct esp_opened o;
    if (sa_table_init(&table, 1, NULL) != 0 || sa_table_add(&table, sa) != 0)
        exit(2);
    if (esp_in_find(&table, PKT, len, &found) == DROP_NONE &&
        esp_in_open(found, PKT, len, PKT + ESP_HEAD, &o) == DROP_NONE)
        print_hex(o.data, o.len);
    else
        printf("refused");
    printf("\n");
    sa_table_done(&table);
    sa_free(sa);
}

int main(int argc, char **argv)
{
    static char key[100], text[140000];
    unsigned esn, spi;
    unsigned long long top;
    if (argc != 2 || aead_init(NULL) != 0)
        return 2;
    if (strcmp(argv[1], "emit") == 0)
        emit_all();
    else
        while (scanf("%u %llu %u %99s %139999s", &esn, &top, &spi, key, text) == 5)
            open_line(esn, top, spi, key, text);
    return 0;
}
