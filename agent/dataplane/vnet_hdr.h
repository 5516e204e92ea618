/* The virtio-net header that precedes each packet on TUN with IFF_VNET_HDR (virtio 1.2,
 * section 5.1.6; here the 10-byte form in host order, which is what TUN speaks unless told
 * otherwise). */
#ifndef HAWSER_DATAPLANE_VNET_HDR_H
#define HAWSER_DATAPLANE_VNET_HDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VNET_HDR_LEN 10

#define VNET_F_NEEDS_CSUM 1u
#define VNET_F_DATA_VALID 2u

#define VNET_GSO_NONE   0u
#define VNET_GSO_TCPV4  1u
#define VNET_GSO_TCPV6  4u
#define VNET_GSO_UDP_L4 5u
#define VNET_GSO_ECN    0x80u /* bit beside the type: the first segment carries CWR */

struct vnet_hdr {
    uint8_t flags;    /* VNET_F_* */
    uint8_t gso_type; /* VNET_GSO_*, without the ECN bit */
    bool ecn;
    uint16_t hdr_len;  /* a hint only; not trusted */
    uint16_t gso_size; /* payload bytes of a full segment */
    uint16_t csum_start;
    uint16_t csum_offset;
};

/* Reads the header at p, which stands before a packet of `packet_len` bytes. False when a type is
 * unknown, a checksum position lies outside the packet, or GSO comes without size or without
 * NEEDS_CSUM. */
bool vnet_hdr_parse(const uint8_t *p, size_t len, size_t packet_len, struct vnet_hdr *out);
/* Writes VNET_HDR_LEN bytes. */
void vnet_hdr_build(uint8_t *p, const struct vnet_hdr *h);
/* The header of a packet that needs nothing: all zero. */
void vnet_hdr_build_plain(uint8_t *p);

#endif
