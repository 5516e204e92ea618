/*
 * Opened packets -> TUN: neighbours of a TCP or UDP flow become one write with a virtio GSO header,
 * by the rules of Linux GRO (in sequence, same flags, options, TTL, TOS and DF, equal sizes except
 * a shorter last one). No payload moves: a merged packet leaves as a gather list of the pieces
 * where they were opened. What is not merged passes untouched, bad checksums included; order within
 * a flow is kept.
 *
 * Each packet offered must have VNET_HDR_LEN writable bytes before it (where its ESP header was),
 * and must stay in place until gro_merge_flush() has returned.
 */
#ifndef HAWSER_DATAPLANE_GRO_MERGE_H
#define HAWSER_DATAPLANE_GRO_MERGE_H

#include "agent/dataplane/inner.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define GRO_PACKET_MAX   65521 /* largest IP packet that crosses a veth in one piece */
#define GRO_SEGMENTS_MAX 128   /* TUN refuses UDP GSO beyond; also bounds the gather list */
#define GRO_FLOWS        8     /* flows held open at once */

/* Takes one TUN write: virtio header and packet as `n` ≥ 1 pieces, `bytes` in all, made of
 * `packets` inner packets. Called from gro_merge_add() and gro_merge_flush(). */
typedef void gro_emit_fn(void *ctx, const struct iovec *iov, unsigned n, size_t bytes,
                         unsigned packets);

struct gro_merge;

/* `uso`: the TUN device takes VIRTIO_NET_HDR_GSO_UDP_L4; without it UDP isn't merged. */
struct gro_merge *gro_merge_new(bool uso, gro_emit_fn *emit, void *ctx);
void gro_merge_free(struct gro_merge *g);
/* Offers the inner packet at pkt (in->len bytes). */
void gro_merge_add(struct gro_merge *g, uint8_t *pkt, const struct inner *in);
/* Emits everything held: at the end of each batch, before its buffers go back. */
void gro_merge_flush(struct gro_merge *g);

#endif
