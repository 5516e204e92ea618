#include "agent/dataplane/esp_out.h"
#include "agent/dataplane/esp_aead.h"
#include "common/bytes.h"
#include <string.h>

#define TRAILER_MAX (ESP_ALIGN - 1 + ESP_TRAILER_LEN)

/* Padding 1, 2, 3, its length and the next header (RFC 4303 section 2.4). Returns the trailer's
 * length. */
static size_t write_trailer(uint8_t *at, size_t inner_len, uint8_t next_header)
{
    size_t pad = -(inner_len + ESP_TRAILER_LEN) & (ESP_ALIGN - 1);
    for (size_t i = 0; i < pad; i++)
        at[i] = (uint8_t)(i + 1);
    at[pad] = (uint8_t)pad;
    at[pad + 1] = next_header;
    return pad + ESP_TRAILER_LEN;
}

enum drop_reason esp_out_seal(struct sa *sa, uint8_t *inner, size_t len, uint8_t next_header,
                              uint8_t *dst)
{
    if (sa_exhausted(sa))
        return DROP_ESP_SEQ_EXHAUSTED;
    uint64_t seq = ++sa->seq;
    store_be32(dst, sa->spi);
    store_be32(dst + 4, (uint32_t)seq);
    store_be64(dst + ESP_HDR_LEN, seq);

    struct esp_aead a;
    esp_aead_init(&a, sa, seq, dst + ESP_HDR_LEN);
    bool in_place = dst + ESP_HEAD == inner;
    uint8_t behind[TRAILER_MAX];
    if (!in_place)
        memcpy(behind, inner + len, sizeof behind);
    size_t text = len + write_trailer(inner + len, len, next_header);
    struct aead_op op = {.src = inner,
                         .dst = dst + ESP_HEAD,
                         .len = text,
                         .nonce = a.nonce,
                         .aad = a.aad,
                         .aad_len = a.aad_len};
    sa->aead->seal(sa->key, &op, dst + ESP_HEAD + text);
    if (!in_place)
        memcpy(inner + len, behind, sizeof behind);
    sa_count(sa, len);
    return DROP_NONE;
}
