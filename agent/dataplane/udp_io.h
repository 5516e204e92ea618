/*
 * The only reads and writes of datagrams. One send carries up to 128 equal-size datagrams
 * (UDP_SEGMENT), one receive up to 64 KiB of them (UDP_GRO); where the kernel lacks one, a plain
 * path does the same work.
 */
#ifndef HAWSER_DATAPLANE_UDP_IO_H
#define HAWSER_DATAPLANE_UDP_IO_H

#include "common/err.h"
#include "common/ipaddr.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Over these a send still succeeds, but the stack cuts it into single datagrams. */
#define UDP_IO_PAYLOAD_MAX4 65493u
#define UDP_IO_PAYLOAD_MAX6 65473u
#define UDP_IO_SEGMENTS_MAX 128u

union udp_sockaddr {
    struct sockaddr sa;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

/* A bound socket as its worker sees it. */
struct udp_socket {
    int fd;
    uint8_t family; /* 4 or 6 */
    bool gso, gro;
};

/* Outer addresses of one tunnel: where to, and from which own address. */
struct udp_path {
    union udp_sockaddr remote;
    socklen_t remote_len;
    struct ipaddr local;
};

/* One receive: `len` bytes of datagrams of `seg` bytes each, the last possibly shorter. */
struct udp_rx {
    uint32_t len, seg;
    uint8_t tos; /* outer TOS or traffic class: the same for all of them */
    union udp_sockaddr from;
};

/* What this kernel can do, tried on sockets of our own. Before the sandbox. */
void udp_io_probe(bool *gso, bool *gro);

/* Sets what reading needs (UDP_GRO if s->gro, TOS of received datagrams) and checks that fd is a
 * UDP socket of the family. */
int udp_io_prepare(struct udp_socket *s, struct err *e);

void udp_path_set(struct udp_path *p, const struct ipaddr *local, const struct ipaddr *remote,
                  uint16_t port);
/* True when `from` is the path's remote address and port. */
bool udp_path_from(const struct udp_path *p, const union udp_sockaddr *from);

/* Most datagrams of `seg` bytes that one send may carry uncut. At least 1. */
unsigned udp_io_burst(unsigned family, size_t seg);

/* Bytes received into buf, described in *rx (an empty datagram gives 0), or -errno; -EAGAIN:
 * nothing waits. */
int udp_io_recv(const struct udp_socket *s, void *buf, size_t cap, struct udp_rx *rx);

/* Sends `len` bytes as datagrams of `seg` bytes (the last may be shorter) with outer TOS `tos`. The
 * caller keeps to udp_io_burst. 0 or -errno; with -EAGAIN nothing (plain path: not all) was sent.
 */
int udp_io_send(const struct udp_socket *s, const struct udp_path *p, const void *buf, size_t len,
                size_t seg, uint8_t tos);

/* Sends one datagram with outer fragmentation allowed (RFC 8200 section 5: an inner IPv6 packet of
 * 1280 bytes must pass). The socket's DF setting is restored before returning. */
int udp_io_send_fragmented(const struct udp_socket *s, const struct udp_path *p, const void *buf,
                           size_t len, uint8_t tos);

#endif
