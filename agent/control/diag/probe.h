/*
 * The packets of diagnostics: probes written whole (IP header included, so that a router's quote
 * can be held against what was sent), and replies read. Pure: no socket, no clock.
 */
#ifndef HAWSER_AGENT_CONTROL_DIAG_PROBE_H
#define HAWSER_AGENT_CONTROL_DIAG_PROBE_H

#include "common/ipaddr.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBES_MAX       2000u /* of one command */
#define PROBE_PORTS      500u  /* destination ports of UDP: port … port + 499, then again */
#define PROBE_PACKET_MAX 65535u

/* What all probes of a command have in common. */
struct probe_flow {
    struct ipaddr source, target; /* one family */
    bool udp;                     /* else ICMP echo */
    uint16_t ident;               /* source port, or the echo's identifier */
    uint16_t port;                /* first destination port */
    uint64_t nonce;               /* in every payload: a guess at a reply fails */
};

struct probe {
    uint16_t number; /* 0 … PROBES_MAX - 1 */
    uint8_t ttl;
    uint16_t size; /* of the IP packet */
    bool dont_fragment;
    uint16_t ip_id; /* IPv4 */
};

/* Smallest packet of the flow. */
unsigned probe_size_min(const struct probe_flow *f);
size_t probe_header_len(const struct probe_flow *f); /* of IP */
/* Writes all `size` bytes; out has room for them. */
void probe_build(const struct probe_flow *f, const struct probe *p, uint8_t *out);

enum probe_reply_kind {
    PROBE_HOP,         /* time exceeded */
    PROBE_TARGET,      /* the target itself: echo reply, port unreachable, or a datagram */
    PROBE_TOO_BIG,     /* mtu tells what passes; 0: an old router that does not say */
    PROBE_UNREACHABLE, /* note says why */
};
struct probe_reply {
    enum probe_reply_kind kind;
    size_t index; /* into `sent` */
    struct ipaddr from;
    unsigned mtu;
    unsigned ttl;     /* of the reply; 0: not known */
    const char *note; /* of PROBE_UNREACHABLE */
};

/*
 * Reads one received ICMP message. False unless it is well formed and answers one of the probes
 * sent: an echo reply must carry the probe's identifier, number and payload, an error must quote
 * the probe byte for byte, as far as it quotes (RFC 792: 8 bytes at least), but for the fields that
 * routers change. IPv4: pkt begins with the IP header. IPv6: with ICMPv6; `from` is the sender.
 */
bool probe_read4(const struct probe_flow *f, const struct probe *sent, size_t n, const uint8_t *pkt,
                 size_t len, struct probe_reply *out);
bool probe_read6(const struct probe_flow *f, const struct probe *sent, size_t n,
                 const struct ipaddr *from, const uint8_t *icmp, size_t len,
                 struct probe_reply *out);

#endif
