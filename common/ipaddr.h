/* Addresses and prefixes of both families. Everything outside is text; inside it is these two
 * types. */
#ifndef HAWSER_COMMON_IPADDR_H
#define HAWSER_COMMON_IPADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define IPADDR_TEXT_MAX 46
#define PREFIX_TEXT_MAX 50

/* Zero-initialised means "none" (family 0). An IPv4 address stands in the first four bytes. */
struct ipaddr {
    uint8_t family; /* 0, 4 or 6 */
    uint8_t b[16];
};

struct prefix {
    struct ipaddr addr; /* host bits are zero */
    uint8_t len;        /* 0–32 or 0–128 */
};

/* Strict text: dotted quad without leading zeros, or RFC 4291 text without zone and without an
 * embedded port. IPv4-mapped IPv6 is refused. HW_EINVAL otherwise. */
int ipaddr_parse(const char *text, struct ipaddr *out);
/* RFC 5952 text into out[IPADDR_TEXT_MAX]; "none" for family 0. Returns out. */
char *ipaddr_text(const struct ipaddr *a, char out[IPADDR_TEXT_MAX]);
bool ipaddr_equal(const struct ipaddr *a, const struct ipaddr *b);
int ipaddr_cmp(const struct ipaddr *a, const struct ipaddr *b);
/* Loopback, unspecified, link-local, multicast, IPv4 broadcast: nothing a gateway may be reached
 * at. */
bool ipaddr_is_special(const struct ipaddr *a);
/* Holds such addresses, or is part of them. */
bool prefix_has_special(const struct prefix *p);
/* 4 → 32, 6 → 128. */
unsigned ipaddr_bits(const struct ipaddr *a);

/* "ADDR/LEN" with host bits zero, or an address alone for a host prefix; HW_EINVAL otherwise, with
 * the reason in *why (static) when why != NULL. */
int prefix_parse(const char *text, struct prefix *out, const char **why);
/* Always "ADDR/LEN". Returns out. */
char *prefix_text(const struct prefix *p, char out[PREFIX_TEXT_MAX]);
struct prefix prefix_of_host(const struct ipaddr *a);
bool prefix_equal(const struct prefix *a, const struct prefix *b);
int prefix_cmp(const struct prefix *a, const struct prefix *b);
bool prefix_contains(const struct prefix *p, const struct ipaddr *a);
/* Equal, containing or contained. */
bool prefix_overlaps(const struct prefix *a, const struct prefix *b);
/* True when `inner` lies wholly in `outer` (equal counts). */
bool prefix_covers(const struct prefix *outer, const struct prefix *inner);

/* Socket addresses. port in host order. Returns the length to pass to bind/connect/sendmsg. */
socklen_t ipaddr_to_sockaddr(const struct ipaddr *a, uint16_t port, struct sockaddr_storage *out);
/* IPv4-mapped IPv6 becomes IPv4. HW_EINVAL for other families. */
int ipaddr_from_sockaddr(const struct sockaddr *sa, struct ipaddr *a, uint16_t *port);

#endif
