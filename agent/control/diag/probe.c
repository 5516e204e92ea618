#include "agent/control/diag/probe.h"
#include "common/bytes.h"
#include <string.h>

#define IP4_LEN     20u
#define IP6_LEN     40u
#define L4_LEN      8u
#define FLAG_DF     0x4000u
#define FLOW_LABEL  0u
#define PAYLOAD_TAG 10u /* nonce and number */

enum { PROTO_ICMP = 1, PROTO_UDP = 17, PROTO_ICMP6 = 58 };
enum { ECHO_REPLY4 = 0, UNREACHABLE4 = 3, ECHO4 = 8, EXCEEDED4 = 11 };
enum { UNREACHABLE6 = 1, TOO_BIG6 = 2, EXCEEDED6 = 3, ECHO6 = 128, ECHO_REPLY6 = 129 };
enum { CODE_PORT4 = 3, CODE_FRAGMENT4 = 4, CODE_PORT6 = 4 };

static bool is_v4(const struct probe_flow *f)
{
    return f->target.family == 4;
}

static uint8_t protocol(const struct probe_flow *f)
{
    return f->udp ? PROTO_UDP : is_v4(f) ? PROTO_ICMP : PROTO_ICMP6;
}

size_t probe_header_len(const struct probe_flow *f)
{
    return is_v4(f) ? IP4_LEN : IP6_LEN;
}

unsigned probe_size_min(const struct probe_flow *f)
{
    return (unsigned)probe_header_len(f) + L4_LEN;
}

/* ---- checksum (RFC 1071), in network order ---- */

static uint32_t sum_bytes(const uint8_t *p, size_t len, uint32_t sum)
{
    for (; len > 1; p += 2, len -= 2)
        sum += load_be16(p);
    return len ? sum + (uint32_t)(p[0] << 8) : sum;
}

static uint16_t fold(uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static uint32_t pseudo_sum(const struct probe_flow *f, size_t len)
{
    size_t n = is_v4(f) ? 4 : 16;
    uint32_t sum = sum_bytes(f->source.b, n, 0);
    sum = sum_bytes(f->target.b, n, sum);
    return sum + protocol(f) + (uint32_t)len;
}

/* ---- building ---- */

static void put_ip_header(const struct probe_flow *f, const struct probe *p, uint8_t *out)
{
    if (is_v4(f)) {
        memset(out, 0, IP4_LEN);
        out[0] = 0x45;
        store_be16(out + 2, p->size);
        store_be16(out + 4, p->ip_id);
        store_be16(out + 6, p->dont_fragment ? FLAG_DF : 0);
        out[8] = p->ttl;
        out[9] = protocol(f);
        memcpy(out + 12, f->source.b, 4);
        memcpy(out + 16, f->target.b, 4);
        store_be16(out + 10, fold(sum_bytes(out, IP4_LEN, 0)));
        return;
    }
    store_be32(out, 6u << 28 | FLOW_LABEL);
    store_be16(out + 4, (uint16_t)(p->size - IP6_LEN));
    out[6] = protocol(f);
    out[7] = p->ttl;
    memcpy(out + 8, f->source.b, 16);
    memcpy(out + 24, f->target.b, 16);
}

static void put_payload(const struct probe_flow *f, const struct probe *p, uint8_t *out, size_t len)
{
    uint8_t tag[PAYLOAD_TAG];
    store_be64(tag, f->nonce);
    store_be16(tag + 8, p->number);
    memset(out, 0, len);
    memcpy(out, tag, len < sizeof tag ? len : sizeof tag);
}

void probe_build(const struct probe_flow *f, const struct probe *p, uint8_t *out)
{
    size_t header = probe_header_len(f), len = p->size - header;
    uint8_t *l4 = out + header;
    put_ip_header(f, p, out);
    put_payload(f, p, l4 + L4_LEN, len - L4_LEN);
    uint32_t sum = 0;
    size_t checksum_at;
    if (f->udp) {
        store_be16(l4, f->ident);
        store_be16(l4 + 2, (uint16_t)(f->port + p->number % PROBE_PORTS));
        store_be16(l4 + 4, (uint16_t)len);
        checksum_at = 6;
    } else {
        l4[0] = is_v4(f) ? ECHO4 : ECHO6;
        l4[1] = 0;
        store_be16(l4 + 4, f->ident);
        store_be16(l4 + 6, p->number);
        checksum_at = 2;
    }
    store_be16(l4 + checksum_at, 0);
    if (f->udp || !is_v4(f))
        sum = pseudo_sum(f, len);
    uint16_t checksum = fold(sum_bytes(l4, len, sum));
    store_be16(l4 + checksum_at, f->udp && checksum == 0 ? 0xffff : checksum);
}

/* ---- reading ---- */

/* The packet as sent, but for what a router or the kernel may set: TOS, TTL, IPv4's length,
 * fragment bits and header checksum; the IP id where the kernel chose it. */
static bool same_header(const struct probe_flow *f, const struct probe *p, const uint8_t *quote)
{
    if (!is_v4(f))
        return quote[0] >> 4 == 6 && quote[6] == protocol(f) &&
               memcmp(quote + 8, f->source.b, 16) == 0 && memcmp(quote + 24, f->target.b, 16) == 0;
    return quote[0] == 0x45 && quote[9] == protocol(f) && memcmp(quote + 12, f->source.b, 4) == 0 &&
           memcmp(quote + 16, f->target.b, 4) == 0 && (load_be16(quote + 6) & 0x1fff) == 0 &&
           (!p->dont_fragment || load_be16(quote + 4) == p->ip_id);
}

static bool same_rest(const struct probe_flow *f, const struct probe *p, const uint8_t *l4,
                      size_t len)
{
    static _Thread_local uint8_t expected[PROBE_PACKET_MAX];
    size_t header = probe_header_len(f), own = p->size - header;
    probe_build(f, p, expected);
    return memcmp(l4, expected + header, len < own ? len : own) == 0;
}

/* Which probe an error quotes; n when none. Only numbers that share the quoted port can be it. */
static size_t find_quoted(const struct probe_flow *f, const struct probe *sent, size_t n,
                          const uint8_t *quote, size_t len)
{
    size_t header = probe_header_len(f);
    if (len < header + L4_LEN)
        return n;
    const uint8_t *l4 = quote + header;
    unsigned first = f->udp ? (unsigned)load_be16(l4 + 2) - f->port : load_be16(l4 + 6);
    size_t step = f->udp ? PROBE_PORTS : PROBES_MAX;
    if (first >= step)
        return n;
    for (size_t i = first; i < n; i += step)
        if (same_header(f, &sent[i], quote) && same_rest(f, &sent[i], l4, len - header))
            return i;
    return n;
}

/* An echo reply to one of ours: everything behind type and checksum comes back. */
static bool read_echo(const struct probe_flow *f, const struct probe *sent, size_t n,
                      const uint8_t *icmp, size_t len, struct probe_reply *out)
{
    static _Thread_local uint8_t expected[PROBE_PACKET_MAX];
    if (f->udp || len < L4_LEN || icmp[1] != 0 || !ipaddr_equal(&out->from, &f->target))
        return false;
    size_t number = load_be16(icmp + 6), header = probe_header_len(f);
    if (number >= n || len != sent[number].size - header)
        return false;
    probe_build(f, &sent[number], expected);
    if (memcmp(icmp + 4, expected + header + 4, len - 4) != 0)
        return false;
    out->kind = PROBE_TARGET;
    out->index = number;
    return true;
}

static const char *unreachable4(unsigned code)
{
    static const char *const notes[] = {
        "network unreachable",
        "host unreachable",
        "protocol unreachable",
        "port unreachable",
        NULL,
        "source route failed",
        "network unknown",
        "host unknown",
        "host isolated",
        "communication with the network administratively prohibited",
        "communication with the host administratively prohibited",
        "network unreachable for this type of service",
        "host unreachable for this type of service",
        "communication administratively prohibited",
        "host precedence violation",
        "precedence cutoff",
    };
    const char *note = code < sizeof notes / sizeof *notes ? notes[code] : NULL;
    return note ? note : "unreachable";
}

static const char *unreachable6(unsigned code)
{
    static const char *const notes[] = {
        "no route",
        "communication administratively prohibited",
        "beyond the scope of the source address",
        "address unreachable",
        "port unreachable",
        "source address refused by policy",
        "route rejected",
    };
    return code < sizeof notes / sizeof *notes ? notes[code] : "unreachable";
}

/* A port that the target itself calls closed is where UDP probes want to arrive. */
static void set_unreachable(const struct probe_flow *f, bool port, const char *note,
                            struct probe_reply *out)
{
    out->kind = port && ipaddr_equal(&out->from, &f->target) ? PROBE_TARGET : PROBE_UNREACHABLE;
    out->note = note;
}

static bool read_error(const struct probe_flow *f, const struct probe *sent, size_t n,
                       const uint8_t *icmp, size_t len, struct probe_reply *out)
{
    if (len < L4_LEN)
        return false;
    out->index = find_quoted(f, sent, n, icmp + L4_LEN, len - L4_LEN);
    return out->index < n;
}

bool probe_read4(const struct probe_flow *f, const struct probe *sent, size_t n, const uint8_t *pkt,
                 size_t len, struct probe_reply *out)
{
    if (len < IP4_LEN || pkt[0] >> 4 != 4)
        return false;
    size_t header = (size_t)(pkt[0] & 15) * 4, total = load_be16(pkt + 2);
    if (header < IP4_LEN || total < header + L4_LEN || total > len || pkt[9] != PROTO_ICMP ||
        !is_v4(f) || memcmp(pkt + 16, f->source.b, 4) != 0)
        return false;
    const uint8_t *icmp = pkt + header;
    size_t icmp_len = total - header;
    if (fold(sum_bytes(icmp, icmp_len, 0)) != 0)
        return false;
    *out = (struct probe_reply){.from.family = 4, .ttl = pkt[8]};
    memcpy(out->from.b, pkt + 12, 4);
    if (icmp[0] == ECHO_REPLY4)
        return read_echo(f, sent, n, icmp, icmp_len, out);
    if ((icmp[0] != EXCEEDED4 || icmp[1] != 0) && icmp[0] != UNREACHABLE4)
        return false;
    if (!read_error(f, sent, n, icmp, icmp_len, out))
        return false;
    if (icmp[0] == EXCEEDED4) {
        out->kind = PROBE_HOP;
    } else if (icmp[1] == CODE_FRAGMENT4) {
        out->kind = PROBE_TOO_BIG;
        out->mtu = load_be16(icmp + 6);
    } else {
        set_unreachable(f, icmp[1] == CODE_PORT4, unreachable4(icmp[1]), out);
    }
    return true;
}

/* The kernel has verified the checksum of what a raw ICMPv6 socket receives. */
bool probe_read6(const struct probe_flow *f, const struct probe *sent, size_t n,
                 const struct ipaddr *from, const uint8_t *icmp, size_t len,
                 struct probe_reply *out)
{
    *out = (struct probe_reply){.from = *from};
    if (len < L4_LEN || is_v4(f))
        return false;
    if (icmp[0] == ECHO_REPLY6)
        return read_echo(f, sent, n, icmp, len, out);
    if ((icmp[0] != EXCEEDED6 || icmp[1] != 0) && icmp[0] != UNREACHABLE6 && icmp[0] != TOO_BIG6)
        return false;
    if (!read_error(f, sent, n, icmp, len, out))
        return false;
    if (icmp[0] == EXCEEDED6) {
        out->kind = PROBE_HOP;
    } else if (icmp[0] == TOO_BIG6) {
        uint32_t mtu = load_be32(icmp + 4);
        out->kind = PROBE_TOO_BIG;
        out->mtu = mtu > UINT16_MAX ? UINT16_MAX : mtu;
    } else {
        set_unreachable(f, icmp[1] == CODE_PORT6, unreachable6(icmp[1]), out);
    }
    return true;
}
