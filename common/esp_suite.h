/* One row per cipher suite of ESP: names, IANA transform, sizes. */
#ifndef HAWSER_COMMON_ESP_SUITE_H
#define HAWSER_COMMON_ESP_SUITE_H

#include <stddef.h>
#include <stdint.h>

/* Values on the wire of OFFER/ACCEPT and dp_proto; bit (1 << value) in masks of suites. */
enum esp_suite_id {
    ESP_SUITE_NONE_SET = 0,
    ESP_SUITE_AES_256_GCM = 1, /* RFC 4106, ENCR 20, 256-bit key */
    ESP_SUITE_AES_128_GCM = 2, /* RFC 4106, ENCR 20, 128-bit key */
    ESP_SUITE_MAX = 2,
    /* Known by name, run by no engine and without a row in the table: what a permission of the
     * encryption policy may name (DESIGN section 9). */
    ESP_SUITE_AES_256_GMAC = 3, /* RFC 4543: integrity without secrecy */
    ESP_SUITE_NONE = 4,         /* plaintext */
};

/* Those with a row in the table, bit (1 << value). */
#define ESP_SUITES_KEYED (1u << ESP_SUITE_AES_256_GCM | 1u << ESP_SUITE_AES_128_GCM)

#define ESP_KEY_MAX  32
#define ESP_SALT_LEN 4
#define ESP_IV_LEN   8
#define ESP_ICV_LEN  16
/* ESP header (SPI, sequence number: RFC 4303 section 2) and trailer's two fixed bytes. */
#define ESP_HDR_LEN     8
#define ESP_TRAILER_LEN 2
#define ESP_ALIGN       4

struct esp_suite {
    uint8_t id;
    const char *name; /* "aes-256-gcm" */
    uint8_t iana_encr;
    uint8_t key_len;
    uint8_t salt_len;
    uint8_t iv_len;
    uint8_t icv_len;
    const char *libcrypto_name; /* for EVP_CIPHER_fetch */
};

/* Does it hide what it carries? */
static inline int esp_suite_encrypts(const struct esp_suite *s)
{
    return s->id == ESP_SUITE_AES_256_GCM || s->id == ESP_SUITE_AES_128_GCM;
}

/* How much it protects: of two, the stricter has more. Also of the suites without a row. */
unsigned esp_suite_strength(unsigned id);

/* NULL when unknown. */
const struct esp_suite *esp_suite_by_id(unsigned id);
const struct esp_suite *esp_suite_by_name(const char *name);

/* Suites without secrecy, in words of the encryption policy: "none", "aes-256-gmac". NULL and
 * ESP_SUITE_NONE_SET when unknown. */
const char *esp_weak_name(unsigned id);
unsigned esp_weak_by_name(const char *name);

/* Bytes of the ESP packet (from SPI to ICV) that carries an inner packet of `inner_len` bytes. */
size_t esp_packet_len(const struct esp_suite *s, size_t inner_len);
/* Largest inner packet whose ESP-in-UDP packet fits into an outer IP packet of `outer_mtu` bytes;
 * `family` 4 (20-byte header) or 6 (40). 0 when nothing fits. Exact: ESP pads to 4 bytes. */
size_t esp_inner_mtu(const struct esp_suite *s, size_t outer_mtu, unsigned family);

#endif
