/*
 * Inner packet -> ESP packet (RFC 4303 tunnel mode, AES-GCM by RFC 4106), to be sent as the payload
 * of a UDP datagram (RFC 3948). IV = sequence number, which never repeats under a key.
 *
 *   SPI 4 | sequence 4 | IV 8 | inner packet, padding 1 2 3, pad length, next header | ICV 16
 */
#ifndef HAWSER_DATAPLANE_ESP_OUT_H
#define HAWSER_DATAPLANE_ESP_OUT_H

#include "agent/dataplane/sa.h"
#include "common/drop_reason.h"
#include <stddef.h>
#include <stdint.h>

#define ESP_HEAD     (ESP_HDR_LEN + ESP_IV_LEN) /* bytes before the inner packet */
#define ESP_TAIL_MAX (ESP_ALIGN - 1 + ESP_TRAILER_LEN + ESP_ICV_LEN)

/* Length of the ESP packet for an inner one. */
static inline size_t esp_out_len(size_t inner_len)
{
    size_t text = (inner_len + ESP_TRAILER_LEN + ESP_ALIGN - 1) & ~(size_t)(ESP_ALIGN - 1);
    return ESP_HEAD + text + ESP_ICV_LEN;
}

/* Seals the `len` bytes at inner into dst, which has room for esp_out_len(len). dst is either apart
 * from the packet, or dst + ESP_HEAD == inner (in place). Up to 5 bytes behind the packet are
 * borrowed for the trailer and restored unless in place: they must be writable. DROP_NONE,
 * DROP_ESP_SEQ_EXHAUSTED when sequence numbers or hard limits are used up. */
enum drop_reason esp_out_seal(struct sa *sa, uint8_t *inner, size_t len, uint8_t next_header,
                              uint8_t *dst);

#endif
