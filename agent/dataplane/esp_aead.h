/* What sealing and opening share: nonce and additional data of one ESP packet (RFC 4106 sections 4
 * and 5). */
#ifndef HAWSER_DATAPLANE_ESP_AEAD_H
#define HAWSER_DATAPLANE_ESP_AEAD_H

#include "agent/dataplane/sa.h"
#include "common/bytes.h"
#include <string.h>

struct esp_aead {
    uint8_t nonce[AEAD_NONCE_LEN]; /* salt, IV */
    uint8_t aad[AEAD_AAD_MAX];     /* SPI, sequence number: 64 bits with ESN, else 32 */
    uint8_t aad_len;
};

static inline void esp_aead_init(struct esp_aead *a, const struct sa *sa, uint64_t seq,
                                 const uint8_t *iv)
{
    memcpy(a->nonce, sa->salt, ESP_SALT_LEN);
    memcpy(a->nonce + ESP_SALT_LEN, iv, ESP_IV_LEN);
    store_be32(a->aad, sa->spi);
    if (sa->esn)
        store_be64(a->aad + 4, seq);
    else
        store_be32(a->aad + 4, (uint32_t)seq);
    a->aad_len = sa->esn ? 12 : 8;
}

#endif
