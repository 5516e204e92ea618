#include "agent/dataplane/icmp_reply.h"
#include "agent/dataplane/checksum.h"
#include "common/bytes.h"
#include <string.h>

#define ICMP_HDR_LEN 8u
#define IPV4_HDR_LEN 20u
#define IPV6_HDR_LEN 40u
#define REPLY4_MAX   576u  /* RFC 1812 section 4.3.2.3 */
#define REPLY6_MAX   1280u /* RFC 4443 section 3.2: the minimum MTU */
#define IPV6_MTU_MIN 1280u
#define REPLY_TTL    64
/* RFC 1812 section 4.3.2.5: errors go out with precedence "internetwork control". */
#define REPLY_TOS 0xc0

enum { ICMP4_UNREACHABLE = 3, ICMP4_FRAG_NEEDED = 4, ICMP4_TIME_EXCEEDED = 11 };
enum { ICMP6_TOO_BIG = 2, ICMP6_TIME_EXCEEDED = 3, ICMP6_ECHO_REQUEST = 128, ICMP6_REDIRECT = 137 };

/* Query messages of ICMPv4 (RFC 1122 section 3.2.2); about any other type nothing is sent. */
static bool icmp4_is_query(uint8_t type)
{
    return type == 0 || type == 8 || (type >= 13 && type <= 18);
}

static bool about_icmp_error(const uint8_t *pkt, const struct inner *in)
{
    bool icmp = in->proto == (in->family == 4 ? IP_PROTO_ICMP : IP_PROTO_ICMPV6);
    if (!icmp)
        return false;
    if (in->l4 >= in->len)
        return true;
    uint8_t type = pkt[in->l4];
    if (in->family == 4)
        return !icmp4_is_query(type);
    return type < ICMP6_ECHO_REQUEST || type == ICMP6_REDIRECT;
}

/* One host, not a group: class D and E (broadcast among them), network zero and loopback are none.
 */
static bool is_host4(const uint8_t *a)
{
    return a[0] != 0 && a[0] != 127 && a[0] < 224;
}
static bool is_host6(const uint8_t *a)
{
    static const uint8_t zero[15];
    bool low = memcmp(a, zero, 15) == 0 && a[15] <= 1; /* unspecified, loopback */
    return a[0] != 0xff && !low;
}

static bool may_reply(const uint8_t *pkt, const struct inner *in)
{
    if ((in->flags & INNER_LATER) || about_icmp_error(pkt, in))
        return false;
    if (in->family == 4)
        return is_host4(in->src) && is_host4(in->dst);
    return is_host6(in->src) && is_host6(in->dst);
}

/* `info` is the second word of the ICMP header. */
static size_t build4(const uint8_t *pkt, const struct inner *in, const uint8_t *from, uint8_t type,
                     uint8_t code, uint32_t info, uint8_t *out, size_t cap)
{
    size_t quoted = in->len;
    if (quoted > REPLY4_MAX - IPV4_HDR_LEN - ICMP_HDR_LEN)
        quoted = REPLY4_MAX - IPV4_HDR_LEN - ICMP_HDR_LEN;
    size_t len = IPV4_HDR_LEN + ICMP_HDR_LEN + quoted;
    if (len > cap)
        return 0;
    memset(out, 0, IPV4_HDR_LEN + ICMP_HDR_LEN);
    out[0] = 0x45;
    out[1] = REPLY_TOS;
    store_be16(out + 2, (uint16_t)len);
    store_be16(out + 6, 0x4000);
    out[8] = REPLY_TTL;
    out[9] = IP_PROTO_ICMP;
    memcpy(out + 12, from, 4);
    memcpy(out + 16, in->src, 4);
    checksum_ipv4_set(out, IPV4_HDR_LEN);
    uint8_t *icmp = out + IPV4_HDR_LEN;
    icmp[0] = type;
    icmp[1] = code;
    store_be32(icmp + 4, info);
    memcpy(icmp + ICMP_HDR_LEN, pkt, quoted);
    (void)checksum_complete(icmp, ICMP_HDR_LEN + quoted, 0, 2, false);
    return len;
}

static size_t build6(const uint8_t *pkt, const struct inner *in, const uint8_t *from, uint8_t type,
                     uint32_t info, uint8_t *out, size_t cap)
{
    size_t quoted = in->len;
    if (quoted > REPLY6_MAX - IPV6_HDR_LEN - ICMP_HDR_LEN)
        quoted = REPLY6_MAX - IPV6_HDR_LEN - ICMP_HDR_LEN;
    size_t icmp_len = ICMP_HDR_LEN + quoted;
    if (IPV6_HDR_LEN + icmp_len > cap)
        return 0;
    memset(out, 0, IPV6_HDR_LEN + ICMP_HDR_LEN);
    out[0] = 0x60 | REPLY_TOS >> 4;
    out[1] = (uint8_t)(REPLY_TOS << 4);
    store_be16(out + 4, (uint16_t)icmp_len);
    out[6] = IP_PROTO_ICMPV6;
    out[7] = REPLY_TTL;
    memcpy(out + 8, from, 16);
    memcpy(out + 24, in->src, 16);
    uint8_t *icmp = out + IPV6_HDR_LEN;
    icmp[0] = type;
    store_be32(icmp + 4, info);
    memcpy(icmp + ICMP_HDR_LEN, pkt, quoted);
    struct inner reply = {.family = 6, .src = out + 8, .dst = out + 24};
    checksum_store(icmp + 2,
                   checksum_fold(checksum_pseudo(&reply, IP_PROTO_ICMPV6, (uint32_t)icmp_len)));
    (void)checksum_complete(icmp, icmp_len, 0, 2, false);
    return IPV6_HDR_LEN + icmp_len;
}

size_t icmp_reply_too_big(const uint8_t *pkt, const struct inner *in, const uint8_t *from,
                          uint32_t mtu, uint8_t *out, size_t cap)
{
    if (!may_reply(pkt, in))
        return 0;
    if (in->family == 4)
        return build4(pkt, in, from, ICMP4_UNREACHABLE, ICMP4_FRAG_NEEDED,
                      mtu > UINT16_MAX ? UINT16_MAX : mtu, out, cap);
    return build6(pkt, in, from, ICMP6_TOO_BIG, mtu < IPV6_MTU_MIN ? IPV6_MTU_MIN : mtu, out, cap);
}

size_t icmp_reply_time_exceeded(const uint8_t *pkt, const struct inner *in, const uint8_t *from,
                                uint8_t *out, size_t cap)
{
    if (!may_reply(pkt, in))
        return 0;
    if (in->family == 4)
        return build4(pkt, in, from, ICMP4_TIME_EXCEEDED, 0, 0, out, cap);
    return build6(pkt, in, from, ICMP6_TIME_EXCEEDED, 0, out, cap);
}
