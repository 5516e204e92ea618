#include "agent/dataplane/stamp.h"

#include "agent/dataplane/checksum.h"
#include "common/bytes.h"
#include <string.h>
#include <time.h>

/* Offsets in the UDP payload (RFC 8762 figures 4 and 6, RFC 8972 section 3). */
enum {
    AT_SEQ = 0,
    AT_TIME = 4,
    AT_ERROR = 12,
    AT_SSID = 14,
    AT_RX_TIME = 16, /* answer only, from here on */
    AT_SENDER_SEQ = 24,
    AT_SENDER_TIME = 28,
    AT_SENDER_ERROR = 36,
    AT_SENDER_TTL = 40,
};

#define UDP_HDR   8u
#define TTL_TEST  255u /* RFC 8762 section 4.2 */
#define NTP_EPOCH 2208988800ull

/* Error estimate: not synchronised, NTP format, multiplier 1, as it must not be zero (RFC 4656
 * section 4.1.2). */
#define ERROR_ESTIMATE 0x0001u

/* Flags and type of the Extra Padding TLV: unrecognised until a reflector says otherwise. */
#define TLV_HEAD      4u
#define TLV_UNKNOWN   0x80u
#define TLV_EXTRA_PAD 1u

enum stamp_kind stamp_kind(const uint8_t *pkt, const struct inner *in)
{
    if (in->proto != IP_PROTO_UDP || !(in->flags & INNER_PORTS) || (in->flags & INNER_FRAGMENT))
        return STAMP_NOT;
    uint32_t l4_len = (uint32_t)in->len - in->l4;
    if (l4_len < UDP_HDR + STAMP_LEN || load_be16(pkt + in->l4 + 4) != l4_len)
        return STAMP_NOT;
    if (in->dport == STAMP_PORT)
        return STAMP_TEST;
    if (in->sport == STAMP_PORT && in->dport == STAMP_SENDER_PORT)
        return STAMP_ANSWER;
    return STAMP_NOT;
}

static void put_time(uint8_t *p)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    store_be32(p, (uint32_t)((uint64_t)ts.tv_sec + NTP_EPOCH));
    store_be32(p + 4, (uint32_t)(((uint64_t)ts.tv_nsec << 32) / 1000000000u));
}

static size_t put_ip(uint8_t *out, size_t len, const struct ipaddr *from, const struct ipaddr *to)
{
    if (from->family == 4) {
        memset(out, 0, 20);
        out[0] = 0x45;
        store_be16(out + 2, (uint16_t)len);
        out[6] = 0x40; /* DF */
        out[8] = TTL_TEST;
        out[9] = IP_PROTO_UDP;
        memcpy(out + 12, from->b, 4);
        memcpy(out + 16, to->b, 4);
        checksum_ipv4_set(out, 20);
        return 20;
    }
    memset(out, 0, 8);
    out[0] = 0x60;
    store_be16(out + 4, (uint16_t)(len - 40));
    out[6] = IP_PROTO_UDP;
    out[7] = TTL_TEST;
    memcpy(out + 8, from->b, 16);
    memcpy(out + 24, to->b, 16);
    return 40;
}

/* UDP checksum of the whole datagram at pkt + in->l4, computed anew. */
static void set_checksum(uint8_t *pkt, const struct inner *in)
{
    uint8_t *udp = pkt + in->l4;
    uint32_t l4_len = (uint32_t)in->len - in->l4;
    store_be16(udp + 6, 0);
    uint64_t sum = checksum_pseudo(in, IP_PROTO_UDP, l4_len);
    uint16_t folded = (uint16_t)~checksum_fold(checksum_add(udp, l4_len, sum));
    checksum_store(udp + 6, folded != 0 ? folded : 0xffff);
}

/* What is too short for a TLV's head stays as zeros, which RFC 8972 section 4 lets a receiver
 * ignore. */
static void put_padding(uint8_t *p, size_t len)
{
    memset(p, 0, len);
    if (len < TLV_HEAD)
        return;
    p[0] = TLV_UNKNOWN;
    p[1] = TLV_EXTRA_PAD;
    store_be16(p + 2, (uint16_t)(len - TLV_HEAD));
}

size_t stamp_test(uint8_t *out, size_t len, const struct ipaddr *from, const struct ipaddr *to,
                  uint32_t seq, uint16_t ssid)
{
    size_t ip = from->family == 4 ? 20 : 40;
    if (len < ip + UDP_HDR + STAMP_LEN || len > UINT16_MAX)
        return 0;
    put_ip(out, len, from, to);
    uint8_t *udp = out + ip, *p = udp + UDP_HDR;
    store_be16(udp, STAMP_SENDER_PORT);
    store_be16(udp + 2, STAMP_PORT);
    store_be16(udp + 4, (uint16_t)(len - ip));
    memset(p, 0, STAMP_LEN);
    store_be32(p + AT_SEQ, seq);
    put_time(p + AT_TIME);
    store_be16(p + AT_ERROR, ERROR_ESTIMATE);
    store_be16(p + AT_SSID, ssid);
    put_padding(p + STAMP_LEN, len - ip - UDP_HDR - STAMP_LEN);
    struct inner in;
    if (!inner_parse(out, len, &in))
        return 0;
    set_checksum(out, &in);
    return len;
}

/* Marks the TLVs that this reflector knows: padding comes back as it came (RFC 8972 section 4.1).
 */
static void reflect_tlvs(uint8_t *p, size_t len)
{
    while (len >= TLV_HEAD) {
        size_t body = load_be16(p + 2);
        if (p[1] == TLV_EXTRA_PAD)
            p[0] = (uint8_t)(p[0] & ~TLV_UNKNOWN);
        if (body > len - TLV_HEAD)
            return;
        p += TLV_HEAD + body;
        len -= TLV_HEAD + body;
    }
}

static void swap_bytes(uint8_t *a, uint8_t *b, size_t n)
{
    uint8_t t[16];
    memcpy(t, a, n);
    memcpy(a, b, n);
    memcpy(b, t, n);
}

/* Swapping addresses leaves the IPv4 checksum right; the new TTL does not. */
static void answer_ip(uint8_t *pkt, const struct inner *in)
{
    if (in->family == 4) {
        swap_bytes(pkt + 12, pkt + 16, 4);
        pkt[8] = TTL_TEST;
        checksum_ipv4_set(pkt, (size_t)(pkt[0] & 0x0f) * 4);
    } else {
        swap_bytes(pkt + 8, pkt + 24, 16);
        pkt[7] = TTL_TEST;
    }
}

void stamp_reflect(uint8_t *pkt, const struct inner *in)
{
    uint8_t *udp = pkt + in->l4, *p = udp + UDP_HDR;
    size_t payload = (size_t)in->len - in->l4 - UDP_HDR;
    uint8_t sender_ttl = in->ttl;
    memcpy(p + AT_SENDER_SEQ, p + AT_SEQ, 4);
    memcpy(p + AT_SENDER_TIME, p + AT_TIME, 8);
    memcpy(p + AT_SENDER_ERROR, p + AT_ERROR, 2);
    memset(p + AT_SENDER_ERROR + 2, 0, STAMP_LEN - AT_SENDER_ERROR - 2);
    p[AT_SENDER_TTL] = sender_ttl;
    put_time(p + AT_RX_TIME);
    memcpy(p + AT_TIME, p + AT_RX_TIME, 8);
    store_be16(p + AT_ERROR, ERROR_ESTIMATE);
    reflect_tlvs(p + STAMP_LEN, payload - STAMP_LEN);
    answer_ip(pkt, in);
    swap_bytes(udp, udp + 2, 2);
    set_checksum(pkt, in);
}

uint32_t stamp_answer_seq(const uint8_t *pkt, const struct inner *in)
{
    return load_be32(pkt + in->l4 + UDP_HDR + AT_SENDER_SEQ);
}

uint16_t stamp_answer_ssid(const uint8_t *pkt, const struct inner *in)
{
    return load_be16(pkt + in->l4 + UDP_HDR + AT_SSID);
}
