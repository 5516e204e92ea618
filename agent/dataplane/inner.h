/*
 * Inner packets: the one place where the bytes of an IPv4 or IPv6 packet become checked fields, and
 * the small changes that a router makes to it (TTL, ECN). Used for packets from TUN and for opened
 * ESP packets alike.
 */
#ifndef HAWSER_DATAPLANE_INNER_H
#define HAWSER_DATAPLANE_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum inner_flag {
    INNER_FRAGMENT = 1, /* part of a fragmented packet, the first part included */
    INNER_LATER = 2,    /* fragment with an offset: its upper-layer header is elsewhere */
    INNER_DF = 4,       /* may not be fragmented on its way: DF, or IPv6 */
    INNER_OPTIONS = 8,  /* IPv4 options or IPv6 extension headers present */
    INNER_PORTS =
        16, /* sport and dport are valid (TCP or UDP, whole ports present, not INNER_LATER) */
};

/* Points into the packet: valid while that stays in place. */
struct inner {
    uint8_t family; /* 4 or 6 */
    uint8_t proto;  /* upper-layer protocol, behind extension headers */
    uint8_t flags;  /* enum inner_flag */
    uint8_t tos;    /* DSCP and ECN */
    uint8_t ttl;    /* or hop limit */
    uint16_t len;   /* of the IP packet by its own header; bytes behind it are not part of it */
    uint16_t l4;    /* offset of the upper-layer header; may equal len */
    uint16_t sport, dport;
    const uint8_t *src, *dst; /* 4 or 16 bytes */
};

#define IP_PROTO_ICMP     1
#define IP_PROTO_TCP      6
#define IP_PROTO_UDP      17
#define IP_PROTO_ICMPV6   58
#define IP_PROTO_FRAGMENT 44

/* ESP next header of a tunnel-mode packet (RFC 4303 section 2.6). */
#define IP_PROTO_IPV4_IN 4
#define IP_PROTO_IPV6_IN 41
#define IP_PROTO_DUMMY   59

static inline size_t inner_addr_len(const struct inner *in)
{
    return in->family == 4 ? 4 : 16;
}
static inline uint8_t inner_next_header(const struct inner *in)
{
    return in->family == 4 ? IP_PROTO_IPV4_IN : IP_PROTO_IPV6_IN;
}

/* Checks versions, lengths, the IPv4 header checksum and the chain of extension headers as far as
 * needed for the upper-layer protocol. False: DROP_INNER_MALFORMED. A truncated upper-layer header
 * is no error, it only leaves INNER_PORTS unset. Reads nothing beyond `len`. */
bool inner_parse(const uint8_t *pkt, size_t len, struct inner *out);

/* Decrements TTL or hop limit, with the IPv4 checksum following. False (packet unchanged) when it
 * would reach zero: DROP_TTL, answered by icmp_reply_time_exceeded(). */
bool inner_ttl_decrement(uint8_t *pkt, struct inner *in);

/* Destination is multicast that no router passes on: 224.0.0.0/24 (RFC 5771 section 4), interface-
 * and link-local scope (RFC 4291 section 2.7). */
bool inner_link_scope(const struct inner *in);

/* Outer TOS/traffic class for an inner one: DSCP and ECN copied (RFC 2983 uniform on the way out,
 * RFC 6040 section 4.1 normal mode). */
static inline uint8_t inner_outer_tos(const struct inner *in)
{
    return in->tos;
}
/* ECN of the inner packet after decapsulation (RFC 6040 section 4.2). Changes the packet where the
 * outer mark is stronger. False: it must be dropped (DROP_ECN). DSCP stays the inner one. */
bool inner_ecn_decapsulate(uint8_t *pkt, struct inner *in, uint8_t outer_tos);

#endif
