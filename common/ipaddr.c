#include "common/ipaddr.h"
#include "common/err.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

int ipaddr_parse(const char *text, struct ipaddr *out)
{
    struct ipaddr a = {0};
    if (!text)
        return HW_EINVAL;
    if (inet_pton(AF_INET, text, a.b) == 1)
        a.family = 4;
    else if (inet_pton(AF_INET6, text, a.b) == 1 && memcmp(a.b, mapped, sizeof mapped) != 0)
        a.family = 6;
    else
        return HW_EINVAL;
    *out = a;
    return HW_OK;
}

/* RFC 5952: the longest run of two or more zero groups becomes "::", the first one of equal runs.
 * The C library writes some addresses with a dotted tail, which the RFC wants only for prefixes
 * known to embed IPv4. */
static void text6(const uint8_t b[16], char *out)
{
    unsigned group[8], run_at = 8, run_len = 1;
    for (unsigned i = 0; i < 8; i++)
        group[i] = (unsigned)b[2 * i] << 8 | b[2 * i + 1];
    for (unsigned i = 0; i < 8; i++) {
        unsigned n = 0;
        while (i + n < 8 && group[i + n] == 0)
            n++;
        if (n > run_len) {
            run_at = i;
            run_len = n;
        }
    }
    char *p = out;
    for (unsigned i = 0; i < 8;) {
        if (i == run_at) {
            *p++ = ':';
            *p++ = ':';
            *p = '\0';
            i += run_len;
            continue;
        }
        bool after_group = i > 0 && i != run_at + run_len;
        p += snprintf(p, (size_t)(out + IPADDR_TEXT_MAX - p), after_group ? ":%x" : "%x", group[i]);
        i++;
    }
}

char *ipaddr_text(const struct ipaddr *a, char out[IPADDR_TEXT_MAX])
{
    if (a->family == 4)
        (void)snprintf(out, IPADDR_TEXT_MAX, "%u.%u.%u.%u", a->b[0], a->b[1], a->b[2], a->b[3]);
    else if (a->family == 6)
        text6(a->b, out);
    else
        (void)snprintf(out, IPADDR_TEXT_MAX, "none");
    return out;
}

int ipaddr_cmp(const struct ipaddr *a, const struct ipaddr *b)
{
    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    return memcmp(a->b, b->b, ipaddr_bits(a) / 8);
}

bool ipaddr_equal(const struct ipaddr *a, const struct ipaddr *b)
{
    return ipaddr_cmp(a, b) == 0;
}

unsigned ipaddr_bits(const struct ipaddr *a)
{
    return a->family == 4 ? 32 : a->family == 6 ? 128 : 0;
}

static const struct prefix special[] = {
    {{4, {0}}, 8},                   /* "this network", RFC 791 */
    {{4, {127}}, 8},                 /* loopback */
    {{4, {169, 254}}, 16},           /* link-local */
    {{4, {224}}, 4},                 /* multicast */
    {{4, {255, 255, 255, 255}}, 32}, /* broadcast */
    {{6, {0}}, 127},                 /* unspecified and loopback */
    {{6, {0xfe, 0x80}}, 10},         /* link-local */
    {{6, {0xff}}, 8},                /* multicast */
};

bool ipaddr_is_special(const struct ipaddr *a)
{
    if (a->family == 0)
        return true;
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        if (prefix_contains(&special[i], a))
            return true;
    return false;
}

bool prefix_has_special(const struct prefix *p)
{
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        if (prefix_overlaps(&special[i], p))
            return true;
    return p->addr.family == 0;
}

/* The first `bits` bits of a and b are the same. */
static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(a, b, whole) != 0)
        return false;
    return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

/* Decimal without sign or leading zero, at most `max`; −1 otherwise. */
static int parse_len(const char *s, unsigned max)
{
    unsigned v = 0;
    if (*s == '\0' || (s[0] == '0' && s[1] != '\0'))
        return -1;
    for (; *s; s++) {
        if (*s < '0' || *s > '9')
            return -1;
        v = v * 10 + (unsigned)(*s - '0');
        if (v > max)
            return -1;
    }
    return (int)v;
}

static int refuse(const char **why, const char *text)
{
    if (why)
        *why = text;
    return HW_EINVAL;
}

int prefix_parse(const char *text, struct prefix *out, const char **why)
{
    char addr[PREFIX_TEXT_MAX];
    struct prefix p = {0};
    const char *slash = text ? strchr(text, '/') : NULL;
    size_t n = slash ? (size_t)(slash - text) : text ? strnlen(text, sizeof addr) : 0;
    if (n == 0 || n >= sizeof addr)
        return refuse(why, "not an address with a prefix length");
    memcpy(addr, text, n);
    addr[n] = '\0';
    if (ipaddr_parse(addr, &p.addr) != HW_OK)
        return refuse(why, "not an IPv4 or IPv6 address");
    int len = slash ? parse_len(slash + 1, ipaddr_bits(&p.addr)) : (int)ipaddr_bits(&p.addr);
    if (len < 0)
        return refuse(why, "prefix length is not valid");
    p.len = (uint8_t)len;
    for (unsigned i = p.len; i < ipaddr_bits(&p.addr); i++)
        if (p.addr.b[i / 8] >> (7 - i % 8) & 1)
            return refuse(why, "host bits are set");
    *out = p;
    return HW_OK;
}

char *prefix_text(const struct prefix *p, char out[PREFIX_TEXT_MAX])
{
    char addr[IPADDR_TEXT_MAX];
    (void)snprintf(out, PREFIX_TEXT_MAX, "%s/%u", ipaddr_text(&p->addr, addr), p->len);
    return out;
}

struct prefix prefix_of_host(const struct ipaddr *a)
{
    return (struct prefix){.addr = *a, .len = (uint8_t)ipaddr_bits(a)};
}

int prefix_cmp(const struct prefix *a, const struct prefix *b)
{
    int c = ipaddr_cmp(&a->addr, &b->addr);
    return c ? c : (int)a->len - (int)b->len;
}

bool prefix_equal(const struct prefix *a, const struct prefix *b)
{
    return prefix_cmp(a, b) == 0;
}

bool prefix_contains(const struct prefix *p, const struct ipaddr *a)
{
    return p->addr.family == a->family && same_bits(p->addr.b, a->b, p->len);
}

bool prefix_overlaps(const struct prefix *a, const struct prefix *b)
{
    return prefix_covers(a, b) || prefix_covers(b, a);
}

bool prefix_covers(const struct prefix *outer, const struct prefix *inner)
{
    return outer->len <= inner->len && prefix_contains(outer, &inner->addr);
}

socklen_t ipaddr_to_sockaddr(const struct ipaddr *a, uint16_t port, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof *out);
    if (a->family == 6) {
        struct sockaddr_in6 *s6 = (struct sockaddr_in6 *)out;
        s6->sin6_family = AF_INET6;
        s6->sin6_port = htons(port);
        memcpy(&s6->sin6_addr, a->b, 16);
        return sizeof *s6;
    }
    struct sockaddr_in *s4 = (struct sockaddr_in *)out;
    s4->sin_family = AF_INET;
    s4->sin_port = htons(port);
    memcpy(&s4->sin_addr, a->b, 4);
    return sizeof *s4;
}

int ipaddr_from_sockaddr(const struct sockaddr *sa, struct ipaddr *a, uint16_t *port)
{
    struct ipaddr r = {0};
    uint16_t be_port;
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *s4 = (const struct sockaddr_in *)sa;
        r.family = 4;
        memcpy(r.b, &s4->sin_addr, 4);
        be_port = s4->sin_port;
    } else if (sa->sa_family == AF_INET6) {
        const struct sockaddr_in6 *s6 = (const struct sockaddr_in6 *)sa;
        const uint8_t *b = s6->sin6_addr.s6_addr;
        bool v4 = memcmp(b, mapped, sizeof mapped) == 0;
        r.family = v4 ? 4 : 6;
        memcpy(r.b, v4 ? b + 12 : b, v4 ? 4 : 16);
        be_port = s6->sin6_port;
    } else {
        return HW_EINVAL;
    }
    *a = r;
    if (port)
        *port = ntohs(be_port);
    return HW_OK;
}
