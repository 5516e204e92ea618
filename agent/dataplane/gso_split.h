/*
 * One packet from TUN -> the inner packets that go into the tunnel: nothing to do, a checksum to
 * complete, a TCP or UDP super-packet to cut, or an IPv4 packet without DF to fragment.
 *
 * No payload is copied. Segment k is yielded where its payload already lies: its headers are
 * written over the tail of segment k−1's payload, which the caller has sealed (or copied) by then.
 * So:
 *   - the buffer is consumed: take the segments in order, seal each into the send buffer before the
 * next call;
 *   - bytes behind a segment belong to the next ones; whoever writes there (ESP trailer) puts them
 * back;
 *   - at least GSO_TAIL writable bytes must follow the packet in its buffer.
 */
#ifndef HAWSER_DATAPLANE_GSO_SPLIT_H
#define HAWSER_DATAPLANE_GSO_SPLIT_H

#include "agent/dataplane/inner.h"
#include "agent/dataplane/vnet_hdr.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSO_HEADER_MAX 256 /* IP header, options and extension headers, and TCP/UDP header */
#define GSO_TAIL       8   /* room that esp_out_seal() may use behind a segment, for a moment */

enum gso_result {
    GSO_OK,
    GSO_TOO_BIG, /* a segment would be over the MTU: answer "too big" (drop DROP_TOO_BIG) */
    GSO_BAD,     /* headers and virtio header disagree: DROP_BAD_GSO */
};

struct gso_segment {
    uint8_t *data; /* an inner IP packet, complete with checksums */
    size_t len;
};

/* Owned by the caller; fields are for gso_split.c. */
struct gso_split {
    uint8_t *pkt;
    uint32_t payload; /* offset of the first unsent payload byte */
    uint32_t end;     /* of the packet */
    uint32_t step;    /* payload bytes of a full segment */
    uint32_t index;   /* of the next segment */
    uint16_t hdr_len; /* IP and upper-layer header, what is put before each payload */
    uint16_t l4;      /* offset of the upper-layer header in it */
    uint16_t ip_id;   /* IPv4: of the first */
    uint16_t frag;    /* fragmenting: offset and flags of the original, host order */
    uint32_t tcp_seq;
    uint64_t ip_sum, l4_sum; /* what the checksums of all segments have in common */
    uint8_t family, mode, tcp_flags;
    uint8_t hdr[GSO_HEADER_MAX]; /* template: changing fields are zero */
};

/* Prepares cutting the packet of in->len bytes at pkt. `mtu`: largest inner packet of the tunnel.
 */
enum gso_result gso_split_begin(struct gso_split *s, uint8_t *pkt, const struct inner *in,
                                const struct vnet_hdr *vh, uint32_t mtu);
/* The next segment; false when all were yielded. */
bool gso_split_next(struct gso_split *s, struct gso_segment *out);
/* How many segments a packet gives, for sizing. */
static inline uint32_t gso_split_count(const struct gso_split *s)
{
    return s->step ? (s->end - s->payload + s->step - 1) / s->step : 1;
}

#endif
